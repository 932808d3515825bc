"""Paying without a coin from a wallet in the browser: it signs, we send, and where that cannot be the button asks for its fee."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import base58
import pytest
from django.utils import timezone
from eth_account import Account
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect
from solders.keypair import Keypair

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from localnet.anvil import Anvil
from localnet.solana.node import SolanaNode
from localnet.tokens import balance_of, mint
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction
from tests.browser import axe
from tests.browser.conftest import StubWallet, WalletRefusalError
from tests.browser.injected import StubSolanaWallet, forget, solana_buyer
from tests.browser.test_checkout_page import SHIFTS, STILL
from tests.checkouts.gas_free.payers import PRICE, Payer, new_payer
from tests.checkouts.page.buyers import with_twice_the_units
from tests.checkouts.shop import Shop
from wallets.networks import chain_spec

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SENT = "Sent. Waiting for the network…"
UNFREE = "We cannot pay the network fee of this payment."
CHANGED = "Your wallet signed something other than this payment. Nothing was sent."


@pytest.fixture
def buyer(base_node: Anvil, usdc: str) -> Payer:
    """Somebody with the price and not one wei."""
    return new_payer(base_node, usdc)


@pytest.fixture
def open_with(page: Page, live_server: Any, free_shop: Shop) -> Callable[..., Locator]:
    """Open a checkout in a browser with a wallet, and find the wallet's button."""

    def open_one(wallet: StubWallet, checkout: Checkout) -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{checkout.code}?chain=base")
        return page.get_by_role("button", name="Pay with Test Wallet")

    return open_one


def signing(buyer: Payer, **changed: str) -> Callable[[str, list[Any]], Any]:
    """A wallet that signs typed data, with a message that it changes, and has no coin for anything else."""

    def answer(method: str, params: list[Any]) -> Any:
        if method != "eth_signTypedData_v4":
            raise WalletRefusalError(-32000, "insufficient funds for gas * price + value")
        assert params[0] == buyer.address
        typed = json.loads(params[1])
        typed["message"] |= changed
        return "0x" + bytes(Account.sign_typed_data(buyer.key, full_message=typed).signature).hex()

    return answer


def test_a_buyer_without_a_coin_signs_and_the_checkout_completes(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, usdc: str, buyer: Payer
) -> None:
    checkout, wallet = free_shop.checkout(), StubWallet(buyer.address, base_node.chain_id, signing(buyer))
    button = open_with(wallet, checkout)
    expect(button).to_contain_text("25.00 USDC · No network fee")
    expect(button.page.get_by_text("Set by your wallet")).to_have_count(0)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert wallet.named("eth_sendTransaction") == []
    assert len(wallet.named("eth_signTypedData_v4")) == 1
    assert balance_of(base_node, usdc, checkout.offers["base"]["address"]) == PRICE
    base_node.mine(chain_spec("base").confirmations)
    free_shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


def test_a_choice_says_anew_beside_it_whether_the_wallet_sets_a_fee(
    page: Page, live_server: Any, free_shop: Shop, settings: Any
) -> None:
    settings.GAS_FREE = []
    page.goto(f"{live_server.url}/c/{free_shop.checkout().code}?chain=base")
    fee, network = page.get_by_text("Set by your wallet"), page.locator("#networks [name=chain]").first
    expect(fee).to_be_visible()
    # What is chosen next is free.
    settings.GAS_FREE = ["base"]
    network.dispatch_event("change")
    expect(fee).to_have_count(0)
    settings.GAS_FREE = []
    network.dispatch_event("change")
    expect(fee).to_be_visible()


def test_where_it_cannot_be_free_the_same_button_asks_for_the_wallets_own_transaction(
    open_with: Callable[..., Locator],
    free_shop: Shop,
    base_node: Anvil,
    buyer: Payer,
    settings: Any,
    complaints: list[str],
) -> None:
    def accept(method: str, params: list[Any]) -> str:
        return "0x" + "ab" * 32

    wallet = StubWallet(buyer.address, base_node.chain_id, accept)
    button = open_with(wallet, free_shop.checkout())
    expect(button).to_contain_text("No network fee")
    settings.GAS_DAILY_COINS = {"base": "0"}
    button.click()
    expect(button.page.get_by_text(UNFREE)).to_be_visible()
    expect(button).not_to_contain_text("No network fee")
    assert wallet.named("eth_sendTransaction") == []
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("eth_sendTransaction")) == 1
    forget(complaints, "409")


@pytest.mark.parametrize("status", [0, 429, 503], ids=["no answer", "too many", "no node"])
def test_where_no_offer_comes_the_same_button_asks_for_the_wallets_own_transaction(
    status: int,
    open_with: Callable[..., Locator],
    free_shop: Shop,
    base_node: Anvil,
    buyer: Payer,
    complaints: list[str],
) -> None:
    """A buyer with coins needs no server of ours: its limit, or a node that is silent, is no dead end."""

    def refuse(route: Route) -> None:
        if status:
            route.fulfill(status=status, content_type="text/html", body="<p>Not now</p>")
        else:
            route.abort()

    wallet = StubWallet(buyer.address, base_node.chain_id, lambda method, params: "0x" + "ab" * 32)
    button = open_with(wallet, free_shop.checkout())
    button.page.route("**/transaction", refuse)
    button.click()
    expect(button.page.get_by_text(UNFREE)).to_be_visible()
    assert wallet.named("eth_sendTransaction") == []
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("eth_sendTransaction")) == 1
    complaints.clear()


@pytest.mark.parametrize(
    ("code", "words"), [(4001, "You cancelled in the wallet. Nothing was sent."), (4200, UNFREE), (-32601, UNFREE)]
)
def test_a_wallet_that_does_not_sign_is_told_in_words(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, buyer: Payer, code: int, words: str
) -> None:
    def refuse(method: str, params: list[Any]) -> Any:
        raise WalletRefusalError(code, "no")

    wallet = StubWallet(buyer.address, base_node.chain_id, refuse)
    button = open_with(wallet, free_shop.checkout())
    button.click()
    expect(button.page.get_by_text(words)).to_be_visible()
    expect(button).to_be_enabled()
    assert not GasTransaction.objects.exists()


def test_a_signature_that_is_the_wrong_one_pays_nothing(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, buyer: Payer, complaints: list[str]
) -> None:
    thief = Payer(buyer.address, base_node.accounts[8].key)
    wallet = StubWallet(buyer.address, base_node.chain_id, signing(thief))
    button = open_with(wallet, free_shop.checkout())
    button.click()
    expect(button.page.get_by_text(CHANGED)).to_be_visible()
    assert not GasTransaction.objects.exists()
    forget(complaints, "400")


@pytest.mark.parametrize("changed", [{"value": str(2 * PRICE)}, {"to": "0x" + "11" * 20}], ids=["amount", "recipient"])
def test_a_wallet_that_signs_something_else_is_told_so_and_the_second_time_asked_for_its_own_transaction(
    open_with: Callable[..., Locator],
    free_shop: Shop,
    base_node: Anvil,
    usdc: str,
    buyer: Payer,
    complaints: list[str],
    changed: dict[str, str],
) -> None:
    checkout, wallet = free_shop.checkout(), StubWallet(buyer.address, base_node.chain_id, signing(buyer, **changed))
    button = open_with(wallet, checkout)
    for words, is_free in ((CHANGED, True), (UNFREE, False)):
        button.click()
        expect(button.page.get_by_text(words)).to_be_visible()
        expect(button).to_be_enabled()
        assert ("No network fee" in button.inner_text()) == is_free
        forget(complaints, "400")
    assert not GasTransaction.objects.exists()
    assert balance_of(base_node, usdc, buyer.address) == PRICE
    assert wallet.named("eth_sendTransaction") == []


def test_a_wallet_that_signed_something_else_once_still_pays_without_a_fee(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, usdc: str, buyer: Payer, complaints: list[str]
) -> None:
    checkout = free_shop.checkout()
    wallet = StubWallet(buyer.address, base_node.chain_id, signing(buyer, value=str(2 * PRICE)))
    button = open_with(wallet, checkout)
    button.click()
    expect(button.page.get_by_text(CHANGED)).to_be_visible()
    forget(complaints, "400")
    wallet.answer = signing(buyer)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert balance_of(base_node, usdc, checkout.offers["base"]["address"]) == PRICE


def test_of_a_signature_that_was_not_used_the_page_says_so_and_the_button_asks_again(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, usdc: str, buyer: Payer, complaints: list[str]
) -> None:
    checkout, wallet = free_shop.checkout(), StubWallet(buyer.address, base_node.chain_id, signing(buyer))
    button = open_with(wallet, checkout)
    base_node.set_automine(False)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    expect(button).to_be_disabled()
    later = timezone.now() + timedelta(minutes=11)
    with gas_node("base") as node:
        tend("base", node=node, now=later)
        base_node.set_automine(True)
        base_node.mine(chain_spec("base").confirmations)
        tend("base", node=node, now=later)
    free_shop.watch()
    told = button.page.get_by_role("region", name="Your signature was not used")
    expect(told).to_contain_text("Nothing left your wallet. Pay again, or with a usual transfer.")
    expect(button.page.get_by_text(SENT)).to_have_count(0)
    assert axe.violations(button.page) == []
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    # The page is drawn again without it, and the button stays shut.
    expect(told).to_have_count(0)
    expect(button).to_be_disabled()
    assert balance_of(base_node, usdc, checkout.offers["base"]["address"]) == PRICE
    complaints.clear()


@pytest.mark.parametrize(
    ("width", "language"), [(390, "en"), (390, "it"), (390, "ru"), (320, "en"), (320, "it"), (320, "ru"), (320, "fa")]
)
def test_on_a_phone_the_button_of_two_lines_has_its_room_and_nothing_moves(
    width: int,
    language: str,
    open_context: Callable[..., BrowserContext],
    live_server: Any,
    free_shop: Shop,
    base_node: Anvil,
    buyer: Payer,
) -> None:
    context = open_context(viewport={"width": width, "height": 844}, is_mobile=True, has_touch=True)
    page = context.new_page()
    # On a busy machine a network may be called slow meanwhile, which is news and moves the page.
    page.route("**/status", lambda route: route.fulfill(status=304))
    StubWallet(buyer.address, base_node.chain_id, signing(buyer)).install(page)
    page.goto(f"{live_server.url}/c/{free_shop.checkout().code}?chain=base&lang={language}")
    button = page.locator("#wallets button")
    expect(button).to_contain_text("25.00 USDC · ")
    box = button.bounding_box()
    assert box
    # Two lines, of which none is broken, and no more than the room kept for them.
    assert box["height"] == 60
    assert box["x"] + box["width"] <= width
    assert page.evaluate(SHIFTS) < STILL


def test_who_pays_no_fee_is_told_of_the_amount_alone(
    open_with: Callable[..., Locator], free_shop: Shop, base_node: Anvil, usdc: str, buyer: Payer, complaints: list[str]
) -> None:
    """A wallet without a coin may speak of a fee all the same; only the server knows that the amount is missing."""
    poor = new_payer(base_node, usdc, PRICE - 1)
    wallet = StubWallet(poor.address, base_node.chain_id, signing(poor))
    button = open_with(wallet, free_shop.checkout())
    button.click()
    expect(
        button.page.get_by_text("Your wallet does not have enough for the amount. Nothing was sent.")
    ).to_be_visible()
    forget(complaints, "409")
    mint(base_node, usdc, poor.address, 1)

    def complain(method: str, params: list[Any]) -> Any:
        raise WalletRefusalError(-32000, "insufficient funds for gas * price + value")

    wallet.answer = complain
    button.click()
    expect(button.page.get_by_text("Your wallet reported a problem.")).to_be_visible()
    expect(button.page.get_by_text("and the network fee. Nothing was sent")).to_have_count(0)


@pytest.fixture
def sol_less(solana_shop: Shop, solana_node: SolanaNode, settings: Any) -> Keypair:
    """Somebody with USDC and no SOL, who buys in a shop on Solana where the operator pays buyers' network fees."""
    ours, buyer = Keypair(), Keypair()
    settings.GAS_FREE, settings.GAS_KEYS_SOLANA = ["solana"], [base58.b58encode(bytes(ours)).decode()]
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"SOLANA_REQUESTS_PER_MINUTE": "100000"}
    solana_node.airdrop(str(ours.pubkey()))
    solana_node.fund(str(buyer.pubkey()), 100_000_000)
    solana_node.fund(solana_shop.address, 1)
    return buyer


@pytest.fixture
def open_on_solana(page: Page, live_server: Any) -> Callable[..., Locator]:
    """Open a checkout on Solana in a browser with a wallet, ask for the exact amount, and find the wallet's button."""

    def open_one(wallet: StubSolanaWallet, checkout: Checkout) -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{checkout.code}")
        page.get_by_role("button", name="Show the exact amount").click()
        return page.get_by_role("button", name="Pay with Test Wallet")

    return open_one


def test_a_wallet_on_solana_that_signs_another_amount_is_told_so_and_then_asked_for_its_own_transaction(
    open_on_solana: Callable[..., Locator],
    solana_shop: Shop,
    solana_node: SolanaNode,
    sol_less: Keypair,
    complaints: list[str],
) -> None:
    agree = solana_buyer(solana_node, sol_less)

    def double(method: str, params: list[Any]) -> Any:
        return agree(method, [*params[:2], *map(with_twice_the_units, params[2:])])

    wallet = StubSolanaWallet(str(sol_less.pubkey()), 0, double)
    button = open_on_solana(wallet, solana_shop.checkout())
    for words, is_free in ((CHANGED, True), (UNFREE, False)):
        button.click()
        expect(button.page.get_by_text(words)).to_be_visible()
        expect(button).to_be_enabled()
        assert ("No network fee" in button.inner_text()) == is_free
        forget(complaints, "400")
    assert solana_node.balance(str(sol_less.pubkey())) == 100_000_000
    assert {method for method, _ in wallet.calls} == {"connect", "sign"}


def test_a_buyer_without_sol_signs_and_the_checkout_completes(
    open_on_solana: Callable[..., Locator], solana_shop: Shop, solana_node: SolanaNode, sol_less: Keypair
) -> None:
    wallet = StubSolanaWallet(str(sol_less.pubkey()), 0, solana_buyer(solana_node, sol_less))
    checkout = solana_shop.checkout()
    button = open_on_solana(wallet, checkout)
    expect(button).to_contain_text("No network fee")
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert [method for method, _ in wallet.calls] == ["connect", "sign"]
    solana_node.advance(2)
    solana_shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED
