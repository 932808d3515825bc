"""Paying on Solana from a wallet in the browser: the server's transaction, the wallet's signature, the watcher's word."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from solders.keypair import Keypair

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from localnet.solana.node import SolanaNode
from tests.browser.conftest import WalletRefusalError
from tests.browser.injected import StubSolanaWallet, forget, solana_buyer
from tests.checkouts.shop import Shop
from wallets.networks import chains

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BUYER = Keypair.from_seed(b"a buyer with a wallet of his own")
# Two that are heard of in the same moment.
SILENT_WALLETS = """
for (const name of ["Other 1", "Other 2"]) {
  const features = { "standard:connect": {}, "solana:signAndSendTransaction": {} };
  const wallet = { version: "1.0.0", name, icon: "data:,", chains: ["solana:localnet"], accounts: [], features };
  addEventListener("wallet-standard:app-ready", ({ detail }) => detail.register(wallet));
}
"""
SENT = "Sent. Waiting for the network…"


@pytest.fixture
def shop(solana_node: SolanaNode, settings: Any) -> Iterator[Shop]:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url, "SOLANA_REQUESTS_PER_MINUTE": "100000"}
    solana_node.airdrop(str(BUYER.pubkey()))
    solana_node.fund(str(BUYER.pubkey()), 100_000_000)
    solana_node.advance(2)
    opened = Shop("solana", str(Keypair().pubkey()))
    yield opened
    opened.watcher.close()


def buyers_wallet(node: SolanaNode, **options: Any) -> StubSolanaWallet:
    address = str(BUYER.pubkey())
    return StubSolanaWallet(address, 0, solana_buyer(node, BUYER), **options)


@pytest.fixture
def open_with(page: Page, live_server: Any, shop: Shop) -> Callable[..., Locator]:
    """Open a checkout in a browser with a wallet, ask for the exact amount, and find the wallet's button."""

    def open_one(wallet: StubSolanaWallet, checkout: Checkout | None = None) -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{(checkout or shop.checkout()).code}")
        page.get_by_role("button", name="Show the exact amount").click()
        return page.get_by_role("button", name="Pay with Test Wallet")

    return open_one


def test_a_buyer_pays_and_the_checkout_completes(
    open_with: Callable[..., Locator], shop: Shop, solana_node: SolanaNode
) -> None:
    wallet = buyers_wallet(solana_node)
    checkout = shop.checkout()
    button = open_with(wallet, checkout)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    expect(button).to_be_disabled()
    solana_node.advance(2)
    shop.watch()
    expect(button.page.get_by_role("heading", name="Payment complete")).to_be_visible()
    checkout.refresh_from_db()
    held = AmountReservation.objects.get()
    assert checkout.status == CheckoutStatus.COMPLETED
    assert solana_node.balance(shop.address) == 25_000_000 + held.suffix
    assert [method for method, _ in wallet.calls] == ["connect", "send"]
    assert wallet.named("send")[0][:2] == [str(BUYER.pubkey()), "solana:localnet"]


def test_without_a_wallet_of_solana_no_code_for_one_is_loaded(page: Page, live_server: Any, shop: Shop) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.add_init_script("window.ethereum = { request: async () => null }")
    page.goto(f"{live_server.url}/c/{shop.checkout().code}")
    page.get_by_role("button", name="Show the exact amount").click()
    expect(page.get_by_text("Send exactly", exact=True)).to_be_visible()
    with page.expect_response(re.compile("/status")):
        pass
    expect(page.locator("#wallets")).to_be_hidden()
    assert not [url for url in loaded if "wallet" in url or "signing" in url]


def test_of_several_wallets_each_gets_a_button_and_the_first_stands_out(
    open_with: Callable[..., Locator], solana_node: SolanaNode, page: Page
) -> None:
    page.add_init_script(SILENT_WALLETS)
    wallet = buyers_wallet(solana_node)
    button = open_with(wallet)
    expect(button).to_be_visible()
    buttons = page.locator("#wallets button")
    expect(buttons).to_have_text(["Pay with Other 1", "Pay with Other 2", "Pay with Test Wallet"])
    expect(page.locator("#wallets .button--primary")).to_have_count(1)


def test_a_wallet_of_other_networks_gets_no_button(open_with: Callable[..., Locator], solana_node: SolanaNode) -> None:
    wallet = buyers_wallet(solana_node, chains=("solana:mainnet", "sui:mainnet"))
    button = open_with(wallet)
    with button.page.expect_response(re.compile("/wallets")):
        pass
    expect(button.page.locator("#wallets")).to_be_hidden()


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (4001, "User rejected the request.", "You cancelled in the wallet."),
        (4001000, "The user rejected the request", "You cancelled in the wallet."),
        (0, "Transaction declined by the user", "You cancelled in the wallet."),
        (-32002, "Already open", "waiting for an answer to another request"),
        (-32603, "Simulation failed: insufficient lamports", "does not have enough"),
        (-32603, "Unexpected error", "Check your wallet before you try again."),
    ],
)
def test_a_refusal_is_told_in_words_and_the_button_works_again(
    code: int, message: str, said: str, open_with: Callable[..., Locator], solana_node: SolanaNode
) -> None:
    wallet = buyers_wallet(solana_node)
    agree = wallet.answer

    def refuse(method: str, params: list[Any]) -> Any:
        if method == "send":
            raise WalletRefusalError(code, message)
        return agree(method, params)

    wallet.answer = refuse
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    expect(button).to_be_enabled()
    wallet.answer = agree
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()


def test_a_double_click_pays_once_and_a_reload_does_not_pay_again(
    open_with: Callable[..., Locator], solana_node: SolanaNode
) -> None:
    wallet = buyers_wallet(solana_node)
    button = open_with(wallet)
    button.evaluate("button => { button.click(); button.click(); button.click(); }")
    expect(button.page.get_by_text(SENT)).to_be_visible()
    button.page.reload()
    expect(button).to_be_disabled()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("send")) == 1


def test_while_a_wallet_does_not_answer_the_page_waits_and_still_sees_a_payment(
    open_with: Callable[..., Locator], shop: Shop, solana_node: SolanaNode
) -> None:
    wallet = buyers_wallet(solana_node)
    button = open_with(wallet)
    page = button.page
    page.evaluate("() => { window.__wallet = () => new Promise(() => {}); }")
    button.click()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    expect(button).to_be_disabled()
    held = AmountReservation.objects.get()
    solana_node.pay(shop.address, 25_000_000 + held.suffix)
    solana_node.advance(2)
    shop.watch()
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()


def test_a_locked_wallet_is_told_in_words(open_with: Callable[..., Locator], solana_node: SolanaNode) -> None:
    wallet = buyers_wallet(solana_node)
    wallet.answer = lambda method, params: []
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Your wallet shared no account.")).to_be_visible()


def test_an_empty_account_is_told_before_the_wallet_is_asked_to_sign(
    open_with: Callable[..., Locator], solana_node: SolanaNode, complaints: list[str]
) -> None:
    wallet = buyers_wallet(solana_node)
    wallet.answer = lambda method, params: [str(Keypair().pubkey())]
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("does not have enough")).to_be_visible()
    expect(button).to_be_enabled()
    assert wallet.named("send") == []
    forget(complaints, "409")


def test_what_cannot_be_prepared_is_told_in_words(
    open_with: Callable[..., Locator], solana_node: SolanaNode, settings: Any, complaints: list[str]
) -> None:
    wallet = buyers_wallet(solana_node)
    button = open_with(wallet)
    expect(button).to_be_visible()
    # Nobody listens there; the page still thinks that all is well.
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": "http://127.0.0.1:9"}
    assert chains()["solana"].rpc_urls == ("http://127.0.0.1:9",)
    button.click()
    expect(button.page.get_by_text("cannot prepare this payment right now")).to_be_visible()
    expect(button).to_be_enabled()
    assert wallet.named("send") == []
    forget(complaints, "503")
