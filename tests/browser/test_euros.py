"""Prices in euros and EURC in a real browser: a wallet pays on a local Base, and a phone says at which rate, and until when."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.authorizations import lay_eurc
from localnet.funding import payer
from localnet.tokens import balance_of, transfer
from tests.browser.conftest import PHONE, StubWallet
from tests.checkouts.euros import DUE, offer_euros, offered
from tests.checkouts.shop import Shop
from tests.checkouts.test_currencies import paid as paid_in_dollars
from tests.contract.client import ApiClient, client_of
from tests.rates.playing import store_rates
from wallets.networks import chain_spec

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SENT = "Sent. Waiting for the network…"
FIXED = "The exchange rate is fixed until then."
SMALLEST = {"width": 320, "height": 640}


@pytest.fixture
def eurc(base_node: Anvil, usdc: str, settings: Any) -> str:
    """EURC's address beside USDC's; checkouts offer it."""
    del usdc
    offer_euros(settings)
    return lay_eurc(base_node)


@pytest.fixture
def shop(base_node: Anvil, eurc: str) -> Iterator[Shop]:
    """A shop that is paid on Base, and the real watcher of the chain."""
    del eurc
    opened = Shop("base", base_node.accounts[7].address)
    yield opened
    opened.watcher.close()


@pytest.fixture
def checkout(shop: Shop) -> Checkout:
    """23.00 EUR, as the API makes it: 25.03 USD, or 23.00 EURC."""
    return offered(client_of(shop.merchant, Mode.LIVE))


def address_of(checkout: Checkout) -> str:
    return str(checkout.offers["base"]["address"])


def watch(shop: Shop, node: Anvil) -> None:
    """Let what was sent become final, and be read and credited."""
    node.mine(chain_spec("base").confirmations)
    shop.watch()


def test_a_buyer_chooses_eurc_and_a_wallet_pays_it(
    page: Page, live_server: Any, shop: Shop, checkout: Checkout, base_node: Anvil, eurc: str
) -> None:
    buyer = payer(base_node).address
    wallet = StubWallet(account=buyer, chain_id=base_node.chain_id, answer=base_node.call)
    wallet.install(page)
    page.goto(f"{live_server.url}/c/{checkout.code}")
    expect(page.get_by_text("Send only USDC on Base.")).to_be_visible()
    page.get_by_role("radio", name="EURC", exact=True).check(force=True)
    expect(page.get_by_text("Send only EURC on Base.")).to_be_visible()
    for words in ("23.00", "EURC"):
        expect(page.get_by_role("group", name="Amount")).to_contain_text(words)
    # The rate moves while the buyer looks for the wallet.
    store_rates({"EUR": "1.3"})
    page.get_by_role("button", name="Pay with Test Wallet").click()
    expect(page.get_by_text(SENT)).to_be_visible()
    [[asked]] = wallet.named("eth_sendTransaction")
    data = "0x" + encode_call("transfer(address,uint256)", address_of(checkout), DUE).hex()
    assert (asked["to"].lower(), asked["data"].lower()) == (eurc.lower(), data.lower())
    assert balance_of(base_node, eurc, address_of(checkout)) == DUE
    watch(shop, base_node)
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    checkout.refresh_from_db()
    assert (checkout.status, checkout.exception) == (CheckoutStatus.COMPLETED, CheckoutException.NONE)
    assert checkout.amount_received == Decimal("25.03")
    page.goto(f"{live_server.url}/c/{checkout.code}/receipt")
    for words in ("23.00 EUR", "25.03 USD", "1 EUR = 1.0883 USD"):
        expect(page.get_by_text(words, exact=True).first).to_be_visible()
    expect(page.get_by_text("23.00 EURC").first).to_be_visible()


def test_a_part_in_euros_and_the_rest_in_dollars_pay_one_checkout(
    page: Page, live_server: Any, shop: Shop, checkout: Checkout, base_node: Anvil, eurc: str, usdc: str
) -> None:
    sender, address = payer(base_node), address_of(checkout)
    transfer(base_node, sender, eurc, address, 10_000_000)
    watch(shop, base_node)
    store_rates({"EUR": "1.3"})
    page.goto(f"{live_server.url}/c/{checkout.code}?chain=base&token=EURC")
    expect(page.get_by_role("heading", name="Almost there")).to_be_visible()
    expect(page.get_by_text("13.00 EURC").first).to_be_visible()
    page.goto(f"{live_server.url}/c/{checkout.code}?chain=base&token=USDC")
    expect(page.get_by_text("14.147392 USDC").first).to_be_visible()
    transfer(base_node, sender, usdc, address, 14_147_392)
    watch(shop, base_node)
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    checkout.refresh_from_db()
    assert (checkout.exception, checkout.amount_received) == (CheckoutException.NONE, Decimal("25.03"))


# The rate on a phone.


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose prices may be in EUR, and whose checkouts offer EURC."""
    offer_euros(settings)
    return seller


def fact(page: Page, words: str) -> Locator:
    return page.locator(".facts").get_by_text(words, exact=True)


@pytest.mark.parametrize("viewport", [PHONE, SMALLEST], ids=["390", "320"])
def test_a_phone_says_the_rate_and_until_when_it_is_fixed(
    europe: ApiClient, open_phone: Callable[..., Page], viewport: dict[str, int]
) -> None:
    checkout = offered(europe)
    page = open_phone(checkout, viewport=viewport)
    for words in ("In US dollars", "25.03 USD", "Exchange rate", "1 EUR = 1.0883 USD", "Pay by", FIXED):
        expect(fact(page, words)).to_be_visible()
    expect(page.locator("#pay-by time")).to_be_visible()
    # What a phone does without: it is on wide screens, and the sources are on the receipt.
    for words in ("Rate from", "Pay with", "Network fee"):
        expect(fact(page, words)).to_be_hidden()
    assert page.locator("html").evaluate("html => html.scrollWidth") <= viewport["width"]
    paid_in_dollars(checkout, 25_030_000)
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(page.locator(".facts")).to_be_hidden()


def test_a_phone_says_the_rate_of_a_token_that_is_no_dollar(europe: ApiClient, open_phone: Callable[..., Page]) -> None:
    page = open_phone(offered(europe, "25.00", "USD"), "?chain=base&token=EURC")
    for words in ("1 EUR = 1.0883 USD", "Pay by", FIXED):
        expect(fact(page, words)).to_be_visible()


def test_a_phone_says_that_no_second_source_confirmed_the_rate(
    europe: ApiClient, open_phone: Callable[..., Page], settings: Any
) -> None:
    settings.RATE_SOURCES, settings.RATE_SINGLE_SOURCE = ["kraken"], True
    page = open_phone(offered(europe))
    expect(fact(page, "No second source confirmed it.")).to_be_visible()


def test_without_a_rate_a_phone_shows_no_facts(seller: ApiClient, open_phone: Callable[..., Page]) -> None:
    page = open_phone(offered(seller, "25.00", "USD"))
    expect(page.get_by_role("heading", name="Choose how to pay")).to_be_visible()
    expect(page.locator(".facts")).to_be_hidden()


@pytest.mark.parametrize("language", ["ar", "de", "ru", "th"])
def test_the_rate_fits_the_smallest_phone_in_long_languages(
    europe: ApiClient, open_phone: Callable[..., Page], language: str
) -> None:
    page = open_phone(offered(europe, "1234.50"), f"?lang={language}", viewport=SMALLEST)
    parts = "[...document.querySelectorAll('.facts .rate, .facts .rate *')].map((part) => part.getBoundingClientRect())"
    assert page.evaluate(f"{parts}.length") > 6
    assert page.evaluate(f"{parts}.every(({{ left, right }}) => left >= 0 && right <= 320)")
