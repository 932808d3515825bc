"""Paying on TON from the browser inside a wallet: TON Connect's bridge in the page, and no relay."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from tonsdk.utils import Address

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from localnet.ton.node import TonNode
from tests.browser.conftest import PHONE
from tests.browser.injected import StubTonWallet, ton_buyer
from tests.checkouts.shop import Shop
from tests.wallets.tonconnect import carry_out

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SENT = "Sent. Waiting for the network…"
CANCELLED = "You cancelled in the wallet. Nothing was sent."


def raw(address: str) -> str:
    text: str = Address(address).to_string(is_user_friendly=False)
    return text


def connected(*items: dict[str, Any]) -> dict[str, Any]:
    """A wallet's answer to `connect`."""
    return {"event": "connect", "id": 1, "payload": {"items": list(items)}}


@pytest.fixture
def open_with(page: Page, live_server: Any, ton_shop: Shop) -> Callable[..., Locator]:
    """Open a checkout in a browser with a wallet, ask for the exact amount, and find the wallet's button."""

    def open_one(wallet: StubTonWallet, checkout: Checkout | None = None) -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{(checkout or ton_shop.checkout()).code}")
        page.get_by_role("button", name="Show the exact amount").click()
        return page.get_by_role("button", name="Pay with Test Wallet")

    return open_one


def test_a_buyer_who_first_declines_pays_and_the_checkout_completes(
    open_with: Callable[..., Locator], ton_shop: Shop, ton_node: TonNode, live_server: Any
) -> None:
    wallet = StubTonWallet(ton_node.payer.address, 0, ton_buyer(ton_node))
    checkout = ton_shop.checkout()
    button = open_with(wallet, checkout)
    button.click()
    expect(button.page.get_by_text(CANCELLED)).to_be_visible()
    assert ton_node.balance(ton_shop.address) == 0
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    expect(button).to_be_disabled()
    assert {manifest for _, manifest in wallet.named("connect")} == {f"{live_server.url}/tonconnect-manifest.json"}
    held = AmountReservation.objects.get()
    assert ton_node.balance(ton_shop.address) == 25_000_000 + held.suffix
    # A block is final once another is above it.
    ton_node.advance()
    ton_shop.watch()
    expect(button.page.get_by_role("heading", name="Payment complete")).to_be_visible()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (connected(), "Your wallet shared no account."),
        ({"event": "connect_error", "id": 1, "payload": {"code": 300, "message": "declined"}}, CANCELLED),
        (
            {"event": "connect_error", "id": 1, "payload": {"code": 1, "message": "bad"}},
            "Your wallet shared no account.",
        ),
        (connected({"name": "ton_addr", "address": f"0:{'ab' * 32}", "network": "-239"}), "did not switch to TON"),
        (connected({"name": "ton_addr", "address": "no address"}), "We cannot prepare this payment right now."),
    ],
    ids=["locked", "declined", "failed", "wrong network", "nonsense"],
)
def test_a_wallet_that_does_not_connect_is_told_in_words(
    answer: dict[str, Any], said: str, open_with: Callable[..., Locator], ton_node: TonNode, complaints: list[str]
) -> None:
    wallet = StubTonWallet(ton_node.payer.address, 0, lambda method, params: answer)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    expect(button).to_be_enabled()
    assert wallet.named("sendTransaction") == []
    # Chromium reports the status of what the server refuses to prepare.
    complaints[:] = [words for words in complaints if "status of 400" not in words]


def test_an_account_without_the_money_is_told_so(
    open_with: Callable[..., Locator], ton_node: TonNode, complaints: list[str]
) -> None:
    account = raw(ton_node.create_wallet().address)
    answer = connected({"name": "ton_addr", "address": account, "network": "-3"})
    button = open_with(StubTonWallet(account, 0, lambda method, params: answer))
    button.click()
    expect(button.page.get_by_text("Your wallet does not have enough")).to_be_visible()
    complaints[:] = [words for words in complaints if "status of 409" not in words]


def test_on_a_phone_the_bridge_takes_the_place_of_the_apps(
    open_context: Callable[..., BrowserContext], live_server: Any, ton_shop: Shop, ton_node: TonNode
) -> None:
    page = open_context(viewport=PHONE, is_mobile=True, has_touch=True).new_page()

    def say_yes(method: str, params: list[Any]) -> Any:
        if method == "connect":
            return connected({"name": "ton_addr", "address": raw(ton_node.payer.address), "network": "-3"})
        carry_out(ton_node, json.loads(params[0]))
        return {"id": "2", "result": "te6ccg"}

    StubTonWallet(ton_node.payer.address, 0, say_yes).install(page)
    page.goto(f"{live_server.url}/c/{ton_shop.checkout().code}")
    page.get_by_role("button", name="Show the exact amount").tap()
    button = page.get_by_role("button", name="Pay with Test Wallet")
    expect(button).to_be_visible()
    expect(page.locator("#apps")).to_be_hidden()
    button.tap()
    expect(page.get_by_text(SENT)).to_be_visible()
