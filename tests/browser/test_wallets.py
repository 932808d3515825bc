"""Paying from a wallet in the browser: what it is asked, and what the buyer is told when it says no."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Locator, Page, expect

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.browser.conftest import ANNOUNCE_WALLET, StubWallet, WalletRefusalError
from tests.checkouts.factories import ADDRESS, make_page_checkout, make_test_checkout, move
from tests.factories import USDC_ON_BASE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

BUYER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BASE, POLYGON = 8453, 137
TRANSFER = {
    "from": BUYER,
    "to": USDC_ON_BASE,
    "value": "0x0",
    "chainId": "0x2105",
    "data": "0xa9059cbb" + ADDRESS[2:].lower().rjust(64, "0") + f"{49_000_000:064x}",
}


def accept(method: str, params: list[Any]) -> str:
    """A wallet whose owner says yes to everything."""
    return "0x" + "ab" * 32


def refuse(code: int, message: str = "no") -> Callable[[str, list[Any]], Any]:
    """A wallet that answers with an error."""

    def answer(method: str, params: list[Any]) -> Any:
        raise WalletRefusalError(code, message)

    return answer


@pytest.fixture
def open_with(page: Page, live_server: Any) -> Callable[..., Locator]:
    """Open a checkout in a browser that has a wallet, and find the wallet's button."""

    def open_one(wallet: StubWallet, checkout: Checkout | None = None) -> Locator:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{(checkout or make_page_checkout()).code}")
        return page.get_by_role("button", name="Pay with Test Wallet")

    return open_one


def test_without_a_wallet_there_is_no_button(page: Page, live_server: Any) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    with page.expect_response(re.compile("/status")):
        pass
    expect(page.locator("#wallets")).to_be_hidden()
    # Nor is a wait of the page's end to be counted.
    spared = ("wallet.js", "signing.js", "waits.js")
    assert not any(url.endswith(spared) for url in loaded)


def test_the_wallet_is_asked_for_one_transfer_of_the_amount_to_the_address(open_with: Callable[..., Locator]) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    assert wallet.named("eth_sendTransaction") == [[TRANSFER]]
    assert wallet.named("wallet_switchEthereumChain") == []
    expect(button).to_be_disabled()


def test_a_double_click_pays_once(open_with: Callable[..., Locator]) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    button = open_with(wallet)
    button.evaluate("button => { button.click(); button.click(); button.click(); }")
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    assert len(wallet.named("eth_sendTransaction")) == 1


def test_a_payment_already_sent_is_remembered_across_a_reload(open_with: Callable[..., Locator]) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    button.page.reload()
    expect(button).to_be_disabled()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()


@pytest.mark.parametrize("is_open_before", [True, False])
def test_a_payment_already_sent_is_remembered_in_another_tab(
    is_open_before: bool, open_with: Callable[..., Locator]
) -> None:
    sent = "Sent. Waiting for the network…"
    wallet = StubWallet(BUYER, BASE, accept)
    button = open_with(wallet)
    if not is_open_before:
        button.click()
        expect(button.page.get_by_text(sent)).to_be_visible()
    tab = button.page.context.new_page()
    wallet.install(tab)
    tab.goto(button.page.url)
    other = tab.get_by_role("button", name="Pay with Test Wallet")
    expect(other).to_be_visible()
    if is_open_before:
        button.click()
        expect(button.page.get_by_text(sent)).to_be_visible()
        other.click()
    expect(tab.get_by_text(sent)).to_be_visible()
    expect(other).to_be_disabled()
    assert len(wallet.named("eth_sendTransaction")) == 1


UNSURE = "The network did not say whether it received your payment. Check your wallet before you try again."


def test_a_payment_that_is_not_seen_opens_the_button_again_with_a_warning(page: Page, live_server: Any) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    wallet.install(page)
    page.clock.install()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with Test Wallet")
    button.click()
    expect(page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    page.clock.fast_forward("04:00")
    expect(button).to_be_disabled()
    page.clock.fast_forward("01:02")
    expect(page.get_by_text(UNSURE)).to_be_visible()
    expect(button).to_be_enabled()
    # It may still wait for a block: whoever loads the page again is warned, too.
    page.reload()
    expect(page.get_by_text(UNSURE)).to_be_visible()
    expect(button).to_be_enabled()
    assert len(wallet.named("eth_sendTransaction")) == 1


def test_a_payment_already_sent_is_remembered_on_another_network_of_its_address(
    open_with: Callable[..., Locator],
) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    button.page.get_by_role("radio", name="Polygon").check(force=True)
    expect(button.page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    expect(button).to_be_disabled()
    assert len(wallet.named("eth_sendTransaction")) == 1


def test_a_wallet_on_another_chain_is_switched_before_anything_is_sent(open_with: Callable[..., Locator]) -> None:
    wallet = StubWallet(BUYER, POLYGON, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    methods = [method for method, _ in wallet.calls]
    assert methods == [
        "eth_requestAccounts",
        "eth_chainId",
        "wallet_switchEthereumChain",
        "eth_chainId",
        "eth_sendTransaction",
    ]


def test_a_wallet_that_stays_on_another_chain_is_asked_to_send_nothing(open_with: Callable[..., Locator]) -> None:
    class Stubborn(StubWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            if method == "wallet_switchEthereumChain":
                return None
            return super()._result(method, params)

    wallet = Stubborn(BUYER, POLYGON, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("did not switch to Base")).to_be_visible()
    assert wallet.named("eth_sendTransaction") == []
    expect(button).to_be_enabled()


@pytest.mark.parametrize(
    ("network", "said", "added"),
    [("mainnet", "did not switch to Base", []), ("local", "Sent.", ["http://127.0.0.1:8545"])],
)
def test_an_unknown_chain_is_added_only_where_its_node_is_public(
    network: str, said: str, added: list[str], open_with: Callable[..., Locator], settings: Any
) -> None:
    class Newcomer(StubWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            if method == "wallet_switchEthereumChain":
                raise WalletRefusalError(4902, "unknown chain")
            if method == "wallet_addEthereumChain":
                self.chain_id = int(params[0]["chainId"], 16)
                return None
            return super()._result(method, params)

    settings.CHAIN_NETWORK = network
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:8545"}
    wallet = Newcomer(BUYER, 1, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    urls = [url for [chain] in wallet.named("wallet_addEthereumChain") for url in chain["rpcUrls"]]
    assert urls == added


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (4001, "User rejected", "You cancelled in the wallet. Nothing was sent."),
        (-32002, "Already processing", "waiting for an answer to another request"),
        (-32000, "insufficient funds for gas", "does not have enough"),
        (-32603, "Internal error", "Check your wallet before you try again."),
    ],
)
def test_a_refusal_is_told_in_words_and_the_button_works_again(
    code: int, message: str, said: str, open_with: Callable[..., Locator]
) -> None:
    wallet = StubWallet(BUYER, BASE, refuse(code, message))
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text(said)).to_be_visible()
    expect(button).to_be_enabled()
    wallet.answer = accept
    button.click()
    expect(button.page.get_by_text("Sent. Waiting for the network…")).to_be_visible()


# A wallet that shares its account and then never answers, as some do whose window is closed.
MUTE = """
window.ethereum = {
  async request({ method }) {
    if (method === "eth_requestAccounts") return ["ACCOUNT"];
    if (method === "eth_chainId") return "0x2105";
    window.asked = (window.asked ?? 0) + 1;
    return new Promise((resolve) => { window.answer = resolve; });
  },
};
"""


def test_a_wallet_that_never_answers_may_be_asked_again_after_a_minute(page: Page, live_server: Any) -> None:
    page.add_init_script(MUTE.replace("ACCOUNT", BUYER))
    page.clock.install(time=0)
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with browser wallet")
    button.click()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    page.wait_for_function("() => window.asked === 1")
    expect(button).to_be_disabled()
    page.clock.fast_forward("01:00")
    expect(page.get_by_text("Your wallet has not answered.")).to_be_visible()
    expect(button).to_be_enabled()
    # The late answer counts all the same, and shuts the button.
    page.evaluate("window.answer('0x' + 'ab'.repeat(32))")
    expect(page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    expect(button).to_be_disabled()


# Connects once its owner has unlocked it.
LOCKED = """
window.sent = 0;
const unlocked = new Promise((resolve) => { window.unlock = resolve; });
window.ethereum = {
  async request({ method }) {
    if (method === "eth_requestAccounts") { await unlocked; return ["ACCOUNT"]; }
    if (method === "eth_chainId") return "0x2105";
    window.sent += 1;
    return new Promise(() => {});
  },
};
"""
# Whatever a connected wallet is asked next, it is asked by then.
UNLOCK = "window.unlock(); new Promise((resolve) => setTimeout(resolve, 300))"


def test_a_wallet_that_connects_once_the_checkout_is_over_is_asked_for_nothing(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout()
    page.add_init_script(LOCKED.replace("ACCOUNT", BUYER))
    page.goto(f"{live_server.url}/c/{checkout.code}")
    page.get_by_role("button", name="Pay with browser wallet").click()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    move(checkout, CheckoutStatus.EXPIRED, cancelled_at=timezone.now())
    expect(page.get_by_role("heading", level=1)).to_have_text("This checkout was cancelled")
    page.evaluate(UNLOCK)
    assert page.evaluate("window.sent") == 0


def test_a_wallet_that_is_asked_again_while_it_is_locked_pays_once(page: Page, live_server: Any) -> None:
    page.add_init_script(LOCKED.replace("ACCOUNT", BUYER))
    page.clock.install()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with browser wallet")
    button.click()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    page.clock.fast_forward("01:01")
    expect(page.get_by_text("Your wallet has not answered.")).to_be_visible()
    button.click()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    page.evaluate(UNLOCK)
    assert page.evaluate("window.sent") == 1


def test_of_two_wallets_each_is_asked_for_by_its_own_button(page: Page, live_server: Any) -> None:
    first, second = StubWallet(BUYER, BASE, accept, name="First"), StubWallet(BUYER, BASE, accept, name="Second")
    page.expose_function("__wallet", first._call)
    page.expose_function("__other", second._call)
    page.add_init_script(ANNOUNCE_WALLET.replace("NAME", '"First"'))
    page.add_init_script(ANNOUNCE_WALLET.replace("NAME", '"Second"').replace("__wallet", "__other"))
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    expect(page.get_by_role("button", name="Pay with First")).to_be_visible()
    page.get_by_role("button", name="Pay with Second").click()
    expect(page.get_by_text("Sent. Waiting for the network…")).to_be_visible()
    assert second.named("eth_sendTransaction") == [[TRANSFER]]
    assert first.calls == []


def test_a_wallet_that_comes_late_is_found(page: Page, live_server: Any) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.add_init_script("setTimeout(() => { window.ethereum = { request: async () => null }; }, 2000);")
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with browser wallet")
    expect(button).to_be_hidden()
    page.clock.run_for(4000)
    expect(button).to_be_visible()


def test_a_wallet_that_is_announced_takes_the_place_of_one_without_a_name(page: Page, live_server: Any) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    late = ANNOUNCE_WALLET.replace("NAME", '"Test Wallet"').strip().removesuffix(";")
    page.add_init_script("window.ethereum = { request: async () => null };")
    page.add_init_script(f"setTimeout(() => {{ {late}; }}, 1500);")
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    page.clock.run_for(500)
    expect(page.get_by_role("button", name="Pay with browser wallet")).to_be_visible()
    page.clock.run_for(3000)
    expect(page.locator("#wallets button")).to_have_text(["Pay with Test Wallet"])


# The height that is kept for a button while there is none.
ROOM = """(area) => {
  const parts = [...area.childNodes];
  area.replaceChildren();
  const height = area.offsetHeight - parseFloat(getComputedStyle(area).paddingTop);
  area.replaceChildren(...parts);
  return height;
}"""
LINES = """(words) => {
  const { height } = words.getBoundingClientRect();
  return Math.round(height / parseFloat(getComputedStyle(words).lineHeight));
}"""


@pytest.mark.parametrize(
    ("width", "language", "name"),
    [
        (320, "en", "Coinbase Wallet"),
        (320, "fa", "Coinbase Wallet"),
        (320, "ru", "Coinbase Wallet"),
        (320, "th", "Coinbase Wallet"),
        (320, "uk", "Coinbase Wallet"),
        (320, "vi", "Coinbase Wallet"),
        # Without a name the words are longer.
        (320, "fr", ""),
        (320, "pl", ""),
        (390, "fr", ""),
    ],
)
def test_on_a_narrow_phone_the_button_has_two_lines_at_most_and_takes_the_room_kept_for_it(
    width: int, language: str, name: str, open_context: Callable[..., BrowserContext], live_server: Any, settings: Any
) -> None:
    # Elsewhere the sheet of apps keeps more room.
    settings.WALLET_LINKS = []
    page = open_context(viewport={"width": width, "height": 844}, is_mobile=True, has_touch=True).new_page()
    if name:
        StubWallet(BUYER, BASE, accept, name=name).install(page)
    else:
        page.add_init_script("window.ethereum = { request: async () => null }")
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}?chain=base&lang={language}")
    area, button = page.locator("#wallets"), page.locator("#wallets button")
    expect(button).to_be_visible()
    expect(button).to_contain_text(name)
    box = button.bounding_box()
    assert box
    assert box["height"] == area.evaluate(ROOM) >= 44
    assert button.locator("span").evaluate(LINES) in {1, 2}
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert button.evaluate("(part) => part.scrollWidth <= part.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_locked_wallet_is_told_in_words(open_with: Callable[..., Locator]) -> None:
    class Locked(StubWallet):
        def _result(self, method: str, params: list[Any]) -> Any:
            return [] if method == "eth_requestAccounts" else super()._result(method, params)

    wallet = Locked(BUYER, BASE, accept)
    button = open_with(wallet)
    button.click()
    expect(button.page.get_by_text("Your wallet shared no account.")).to_be_visible()
    assert wallet.named("eth_sendTransaction") == []


def test_an_older_wallet_that_announces_nothing_is_found_in_the_window(page: Page, live_server: Any) -> None:
    page.add_init_script("window.ethereum = { request: async () => null }")
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    expect(page.get_by_role("button", name="Pay with browser wallet")).to_be_visible()


def test_no_wallet_is_offered_in_test_mode(open_with: Callable[..., Locator]) -> None:
    button = open_with(StubWallet(BUYER, BASE, accept), make_test_checkout())
    with button.page.expect_response(re.compile("/status")):
        pass
    expect(button).to_have_count(0)
