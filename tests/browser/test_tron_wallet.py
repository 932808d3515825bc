"""Paying on Tron from a wallet in the browser: it signs, and the server sends."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from localnet.funding import payer
from localnet.tokens import balance_of
from localnet.tron import TRON_CHAIN_ID, USDT, TronNode
from localnet.tron.addresses import to_hex
from tests.browser.conftest import WalletRefusalError
from tests.browser.injected import StubTronWallet, forget, tron_wallet
from tests.checkouts.page.buyers import with_twice_the_amount
from tests.checkouts.shop import Shop
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NILE = 3448148188
SENT = "Sent. Waiting for the network…"


@pytest.fixture
def open_with(page: Page, live_server: Any, tron_shop: Shop) -> Callable[..., Locator]:
    """Open a checkout in a browser with a wallet, ask for the exact amount, and find the wallet's button."""

    def open_one(wallet: StubTronWallet, checkout: Checkout | None = None, *, name: str = "Test Wallet") -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{(checkout or tron_shop.checkout()).code}")
        page.get_by_role("button", name="Show the exact amount").click()
        return page.get_by_role("button", name=f"Pay with {name}")

    return open_one


def buyers_wallet(node: TronNode, chain_id: int = TRON_CHAIN_ID, **options: Any) -> StubTronWallet:
    return tron_wallet(payer(node.anvil), chain_id, **options)


def received(shop: Shop, node: TronNode) -> int:
    return balance_of(node.anvil, to_hex(USDT), to_hex(shop.address))


def test_a_buyer_pays_and_the_checkout_completes(
    open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode
) -> None:
    wallet = buyers_wallet(tron_node)
    checkout = tron_shop.checkout()
    button = open_with(wallet, checkout)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    expect(button).to_be_disabled()
    tron_shop.watch()
    confirming = button.page.get_by_text("of 20 confirmations")
    expect(confirming).to_be_visible()
    tron_node.mine(20)
    tron_shop.watch()
    expect(button.page.get_by_role("heading", name="Payment complete")).to_be_visible()
    checkout.refresh_from_db()
    held = AmountReservation.objects.get()
    assert checkout.status == CheckoutStatus.COMPLETED
    assert received(tron_shop, tron_node) == 25_000_000 + held.suffix
    assert [method for method, _ in wallet.calls] == ["eth_requestAccounts", "eth_chainId", "sign"]


def test_an_older_wallet_is_found_in_the_window_and_pays(
    open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode
) -> None:
    class Older(StubTronWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            if method == "tron_requestAccounts":
                return {"code": 200, "message": "The site is authorised"}
            if method.startswith("eth_"):
                raise WalletRefusalError(4200, "not supported")
            return self.answer(method, params)

    known = buyers_wallet(tron_node)
    wallet = Older(known.account, 0, known.answer, is_announced=False)
    button = open_with(wallet, name="browser wallet")
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    held = AmountReservation.objects.get()
    assert received(tron_shop, tron_node) == 25_000_000 + held.suffix


@pytest.mark.parametrize("place", ["okxwallet", "trustwallet"])
def test_a_provider_in_a_wallets_own_object_is_found_and_pays(
    place: str, open_with: Callable[..., Locator], page: Page, tron_node: TronNode
) -> None:
    wallet = buyers_wallet(tron_node, is_announced=False, inside=place)
    button = open_with(wallet, name="browser wallet")
    button.click()
    expect(page.get_by_text(SENT)).to_be_visible()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"code": 4001}, "You cancelled in the wallet."),
        ({"code": 4000}, "waiting for an answer to another request"),
        ("", "Your wallet shared no account."),
    ],
)
def test_an_older_wallet_that_shares_no_account_is_told_in_words(
    answer: Any, said: str, open_with: Callable[..., Locator], tron_node: TronNode
) -> None:
    class Older(StubTronWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            if method == "tron_requestAccounts" and answer:
                return answer
            if method.endswith("_requestAccounts") and not answer:
                return []
            raise WalletRefusalError(4200, "not supported")

    wallet = Older("", 0, buyers_wallet(tron_node).answer)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    expect(button).to_be_enabled()


def test_a_wallet_on_another_network_is_switched_before_it_signs(
    open_with: Callable[..., Locator], tron_node: TronNode
) -> None:
    wallet = buyers_wallet(tron_node, NILE)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert wallet.named("wallet_switchEthereumChain") == [[{"chainId": "0x2b6653dc"}]]


def test_a_wallet_that_stays_on_another_network_signs_nothing(
    open_with: Callable[..., Locator], tron_node: TronNode
) -> None:
    class Stubborn(StubTronWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            if method == "wallet_switchEthereumChain":
                return None
            return super()._result(method, params)

    known = buyers_wallet(tron_node)
    wallet = Stubborn(known.account, NILE, known.answer)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("did not switch to Tron")).to_be_visible()
    assert wallet.named("sign") == []
    expect(button).to_be_enabled()


def test_a_refusal_in_plain_text_is_told_in_words(open_with: Callable[..., Locator], tron_node: TronNode) -> None:
    wallet = buyers_wallet(tron_node)
    agree = wallet.answer

    def refuse(method: str, params: list[Any]) -> Any:
        raise WalletRefusalError(0, "Confirmation declined by user")

    wallet.answer = refuse
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("You cancelled in the wallet.")).to_be_visible()
    wallet.answer = agree
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()


def test_a_wallet_that_signs_another_amount_is_told_so_and_may_sign_again(
    open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode, complaints: list[str]
) -> None:
    wallet = buyers_wallet(tron_node)
    agree = wallet.answer

    def double(method: str, params: list[Any]) -> Any:
        return agree(method, [with_twice_the_amount(params[0])])

    wallet.answer = double
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Your wallet signed something other than this payment.")).to_be_visible()
    expect(button).to_be_enabled()
    assert received(tron_shop, tron_node) == 0
    forget(complaints, "400")
    wallet.answer = agree
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("SIGERROR", "409", "The network refused what your wallet signed. Nothing was sent."),
        ("SERVER_BUSY", "503", "did not say whether it received your payment"),
    ],
)
def test_what_the_network_does_not_take_is_told_in_words(
    code: str, status: str, said: str, open_with: Callable[..., Locator], tron_node: TronNode, complaints: list[str]
) -> None:
    tron_node.rules.broadcast_code = code
    wallet = buyers_wallet(tron_node)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    expect(button).to_be_enabled()
    forget(complaints, status)


def test_who_tries_again_in_doubt_sends_the_same_and_signs_no_second_payment(
    open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode, complaints: list[str]
) -> None:
    tron_node.rules.broadcast_code = "SERVER_BUSY"
    wallet = buyers_wallet(tron_node)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("did not say whether it received")).to_be_visible()
    forget(complaints, "503")
    tron_node.rules.broadcast_code = ""
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("sign")) == 1
    held = AmountReservation.objects.get()
    assert received(tron_shop, tron_node) == 25_000_000 + held.suffix


def test_who_presses_again_after_an_answer_that_never_came_sends_the_same_and_signs_no_second_payment(
    page: Page, open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode, complaints: list[str]
) -> None:
    wallet = buyers_wallet(tron_node)
    page.clock.install()
    button = open_with(wallet)
    held: list[Any] = []
    page.route("**/signed", lambda route: held.append(route), times=1)
    with page.expect_request("**/signed"):
        button.click()
    page.clock.fast_forward("00:31")
    expect(page.get_by_text("did not say whether it received")).to_be_visible()
    button.click()
    expect(page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("sign")) == 1
    held[0].abort()
    reserved = AmountReservation.objects.get()
    assert received(tron_shop, tron_node) == 25_000_000 + reserved.suffix
    complaints.clear()


# The wallet's owner is slow to sign: each question waits until the test answers it.
SLOW = """() => {
  const ask = window.__wallet;
  window.waiting = [];
  window.__wallet = (request) => JSON.parse(request)[0] === "sign"
    ? new Promise((answer) => { window.waiting.push(() => answer(ask(request))); })
    : ask(request);
}"""


def test_a_wallet_that_was_asked_twice_and_signs_twice_pays_once(
    page: Page, open_with: Callable[..., Locator], tron_shop: Shop, tron_node: TronNode
) -> None:
    wallet = buyers_wallet(tron_node)
    page.clock.install()
    button = open_with(wallet)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/signed") else None)
    page.evaluate(SLOW)
    for prompts in (1, 2):
        button.click()
        page.wait_for_function(f"() => window.waiting.length === {prompts}")
        page.clock.fast_forward("01:01")
        expect(button).to_be_enabled()
    page.evaluate("window.waiting[0]()")
    expect(page.get_by_text(SENT)).to_be_visible()
    page.evaluate("window.waiting[1]()")
    wait_until(lambda: len(wallet.named("sign")) == 2)
    expect(page.get_by_text(SENT)).to_be_visible()
    expect(button).to_be_disabled()
    reserved = AmountReservation.objects.get()
    assert (len(sent), received(tron_shop, tron_node)) == (1, 25_000_000 + reserved.suffix)


def test_a_doubt_is_told_again_to_who_loads_the_page_anew(
    open_with: Callable[..., Locator], tron_node: TronNode, complaints: list[str]
) -> None:
    tron_node.rules.broadcast_code = "SERVER_BUSY"
    button = open_with(buyers_wallet(tron_node))
    button.click()
    doubt = button.page.get_by_text("did not say whether it received")
    expect(doubt).to_be_visible()
    button.page.reload()
    expect(doubt).to_be_visible()
    expect(button).to_be_enabled()
    forget(complaints, "503")


def test_a_doubt_outlives_that_the_buyer_declines_a_second_payment(
    open_with: Callable[..., Locator], tron_node: TronNode, complaints: list[str]
) -> None:
    tron_node.rules.broadcast_code = "SERVER_BUSY"
    wallet = buyers_wallet(tron_node)
    button = open_with(wallet)
    button.click()
    doubt = button.page.get_by_text("did not say whether it received")
    expect(doubt).to_be_visible()
    button.page.reload()
    expect(doubt).to_be_visible()

    def decline(method: str, params: list[Any]) -> Any:
        raise WalletRefusalError(4001, "declined")

    wallet.answer = decline
    button.click()
    expect(button.page.get_by_text("You cancelled in the wallet.")).to_be_visible()
    button.page.reload()
    expect(doubt).to_be_visible()
    forget(complaints, "503")


def test_a_refusal_after_a_doubt_leaves_the_doubt_and_then_asks_anew(
    open_with: Callable[..., Locator], tron_node: TronNode, complaints: list[str]
) -> None:
    wallet = buyers_wallet(tron_node)
    button = open_with(wallet)
    doubt = button.page.get_by_text("did not say whether it received")
    for code in ("SERVER_BUSY", "TRANSACTION_EXPIRATION_ERROR"):
        tron_node.rules.broadcast_code = code
        with button.page.expect_response("**/signed"):
            button.click()
        expect(button).to_be_enabled()
        expect(doubt).to_be_visible()
    forget(complaints, "503")
    forget(complaints, "409")
    tron_node.rules.broadcast_code = ""
    button.click()
    expect(button.page.get_by_text(SENT)).to_be_visible()
    assert len(wallet.named("sign")) == 2


def test_without_a_way_to_send_there_is_no_button(
    open_with: Callable[..., Locator], tron_node: TronNode, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url}
    button = open_with(buyers_wallet(tron_node))
    expect(button.page.get_by_text("Send exactly", exact=True)).to_be_visible()
    expect(button.page.locator("#wallets")).to_have_count(0)
