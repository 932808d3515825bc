"""Paying on TON with a wallet app behind a relay: TON Connect's HTTP bridge, which the operator turns on."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from nacl.public import PrivateKey
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect
from tonsdk.utils import Address

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from localnet.ton.node import TonNode
from tests.browser.conftest import PHONE
from tests.browser.test_wallet_apps import opened_by_a_tap
from tests.checkouts.factories import make_exact_choice
from tests.checkouts.shop import Shop
from tests.waiting import wait_until
from tests.wallets.tonbridge import Bridge, RelayedApp, running_bridge
from tests.wallets.tonconnect import carry_out
from wallets import selectors
from wallets.models import ChainCursor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CONFIRM = "Confirm in your wallet…"
SENT = "Sent. Waiting for the network…"
CANCELLED = "You cancelled in the wallet. Nothing was sent."
NO_ACCOUNT = "Your wallet shared no account."
PROBLEM = "Your wallet reported a problem. Check your wallet before you try again."
UNPREPARED = "We cannot prepare this payment right now. Nothing was sent."
UNSURE = "The network did not say whether it received your payment."
UNIVERSAL = "https://app.tonkeeper.com/ton-connect"
DECLINED = {"code": 300, "message": "User declined the transaction"}


def forget(complaints: list[str], words: str) -> None:
    """Take out what Chromium says of requests that a test lets fail."""
    complaints[:] = [one for one in complaints if words not in one]


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    with running_bridge() as running:
        yield running


@pytest.fixture
def app(bridge: Bridge) -> RelayedApp:
    return RelayedApp(bridge)


@pytest.fixture
def account(ton_node: TonNode) -> dict[str, Any]:
    """What the wallet of the node's payer shares."""
    raw = Address(ton_node.payer.address).to_string(is_user_friendly=False)
    return {"name": "ton_addr", "address": raw, "network": "-3"}


@pytest.fixture
def open_page(
    open_context: Callable[..., BrowserContext], live_server: Any, ton_shop: Shop, bridge: Bridge, settings: Any
) -> Callable[..., Page]:
    """Open a checkout on a phone, under a relay that reaches Tonkeeper, and ask for the exact amount."""
    settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS = bridge.url, ["tonkeeper"]
    # The shop's watcher reads when a test says so. On a busy machine the page would call the network late meanwhile, and then close it.
    later = timezone.now() + timedelta(hours=1)
    ChainCursor.objects.filter(chain=ton_shop.chain).update(due_at=later, lease_until=later)
    # A page of the test before may have asked once its network was gone.
    selectors.forget()

    def open_one(checkout: Checkout | None = None, **options: Any) -> Page:
        phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
        context = open_context(**(phone | options), ignore_https_errors=True)
        context.route(f"{UNIVERSAL}**", lambda route: route.fulfill(status=204, body=""))
        page = context.new_page()
        page.goto(f"{live_server.url}/c/{(checkout or ton_shop.checkout()).code}")
        page.get_by_role("button", name="Show the exact amount").click()
        return page

    return open_one


def pay_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Pay with Tonkeeper")


def into_wallet(page: Page) -> Locator:
    return page.locator("#wallets").get_by_role("link", name="Open Tonkeeper")


def connect(page: Page, app: RelayedApp, *items: dict[str, Any]) -> None:
    """Press the button, tap the link into the wallet, and let it share an account."""
    pay_button(page).tap()
    app.open(opened_by_a_tap(page, into_wallet(page)))
    app.connect(*items)


def test_a_buyer_who_first_declines_pays_over_the_relay_and_the_checkout_completes(
    open_page: Callable[..., Page],
    ton_shop: Shop,
    ton_node: TonNode,
    bridge: Bridge,
    app: RelayedApp,
    account: dict[str, Any],
    live_server: Any,
) -> None:
    checkout = ton_shop.checkout()
    page = open_page(checkout)
    expect(pay_button(page)).to_be_visible()
    # Nothing is loaded and no host is asked before the buyer wants it.
    assert bridge.asked == []
    assert page.evaluate("typeof nacl") == "undefined"
    connect(page, app, account)
    assert app.asked == {"manifestUrl": f"{live_server.url}/tonconnect-manifest.json", "items": [{"name": "ton_addr"}]}
    first = app.read()
    assert ton_node.balance(ton_shop.address) == 0
    app.send({"id": first["id"], "error": DECLINED})
    expect(page.get_by_text(CANCELLED)).to_be_visible()
    expect(into_wallet(page)).to_have_count(0)
    pay_button(page).tap()
    second = app.read()
    assert (second["method"], int(second["id"]) > int(first["id"])) == ("sendTransaction", True)
    # The wallet is connected: the link only opens it.
    link = urlsplit(into_wallet(page).get_attribute("href") or "")
    assert parse_qs(link.query) == {"id": [app.page], "ret": ["back"]}
    [order] = second["params"]
    carry_out(ton_node, json.loads(order))
    app.send({"id": second["id"], "result": "te6ccg"})
    expect(page.get_by_text(SENT)).to_be_visible()
    expect(pay_button(page)).to_be_disabled()
    assert app.read()["method"] == "disconnect"
    assert page.evaluate("Object.keys(sessionStorage)") == []
    held = AmountReservation.objects.get()
    assert ton_node.balance(ton_shop.address) == 25_000_000 + held.suffix

    def is_completed() -> bool:
        ton_shop.watch()
        checkout.refresh_from_db()
        return checkout.status == CheckoutStatus.COMPLETED

    # It is seen first if the node's next block is late.
    wait_until(is_completed)
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()


def test_the_other_apps_stay_and_the_app_behind_the_relay_is_there_once(open_page: Callable[..., Page]) -> None:
    page = open_page()
    expect(pay_button(page)).to_be_visible()
    expect(page.get_by_role("link", name="Open MyTonWallet")).to_be_visible()
    expect(page.get_by_role("link", name="Open Tonkeeper")).to_have_count(0)


def test_a_computer_and_a_wallets_own_browser_have_no_use_for_it(
    open_page: Callable[..., Page], bridge: Bridge
) -> None:
    page = open_page(viewport={"width": 1280, "height": 900}, is_mobile=False, has_touch=False)
    expect(page.locator("#copy-address")).to_be_visible()
    expect(page.locator("#wallets")).to_be_hidden()
    page.context.add_init_script("window.own = { tonconnect: { walletInfo: { name: 'Own Wallet' } } };")
    page.reload()
    expect(page.get_by_role("button", name="Pay with Own Wallet")).to_be_visible()
    expect(pay_button(page)).to_have_count(0)
    assert bridge.asked == []


@pytest.mark.usefixtures("chains_are_well")
def test_on_other_networks_a_wallet_behind_the_relay_is_no_wallet_of_the_browser(
    open_phone: Callable[..., Page], settings: Any
) -> None:
    settings.TON_CONNECT_RELAY = "https://bridge.tonapi.io/bridge"
    page = open_phone(make_exact_choice(), "?chain=base", clock=True)
    assert page.locator("#relay").count() == 1
    page.clock.run_for(10_000)
    expect(page.locator("#wallets")).to_be_hidden()
    expect(page.get_by_text("This app can't pay")).to_be_hidden()


def test_a_page_that_the_phone_forgot_goes_on(
    open_page: Callable[..., Page], ton_node: TonNode, bridge: Bridge, app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    pay_button(page).tap()
    app.open(opened_by_a_tap(page, into_wallet(page)))
    page.goto("about:blank")
    app.connect(account)
    page.go_back()
    asked = app.read()
    page.reload()
    expect(page.get_by_text(CONFIRM)).to_be_visible()
    # The same question once more, which a wallet takes for one.
    assert app.read() == asked
    carry_out(ton_node, json.loads(asked["params"][0]))
    app.send({"id": asked["id"], "result": "te6ccg"})
    expect(page.get_by_text(SENT)).to_be_visible()
    assert {query["client_id"] for query in bridge.named("events")} == {app.page, app.id}


def test_a_page_that_the_phone_forgot_with_an_account_in_hand_goes_on(
    open_page: Callable[..., Page], bridge: Bridge, app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    # The wallet shared an account, and the phone forgot the page before the server wrote the order.
    page.route("**/transaction", lambda route: None)
    with page.expect_request("**/transaction"):
        connect(page, app, account)
    page.unroute("**/transaction")
    page.reload()
    expect(page.get_by_text(CONFIRM)).to_be_visible()
    assert app.read()["method"] == "sendTransaction"
    # The account was asked for once.
    assert {query["client_id"] for query in bridge.named("events")} == {app.page, app.id}
    # It waits for the wallet still, and would complain of a bridge that ended.
    page.close()


# As the page is between two drawings: what is to be paid is not in it yet.
DRAW_BARE = """() => {
  const area = document.getElementById("wallets");
  const bare = document.createElement("div");
  bare.id = "wallets";
  bare.dataset.family = area.dataset.family;
  area.replaceWith(bare);
}"""


def test_a_page_that_is_drawn_anew_after_the_press_remembers_the_payment_that_was_pressed_for(
    open_page: Callable[..., Page], bridge: Bridge
) -> None:
    page = open_page()
    expect(pay_button(page)).to_be_visible()
    scripts: list[Route] = []
    page.route("**/js/relay.js", lambda route: scripts.append(route))
    with page.expect_request("**/js/relay.js"):
        pay_button(page).tap()
    page.evaluate(DRAW_BARE)
    with page.expect_request(lambda request: request.url.startswith(f"{bridge.url}/events")):
        scripts[0].continue_()
    [name] = page.evaluate("Object.keys(sessionStorage)")
    assert name.startswith("florin:relay:tonkeeper:-3:")
    # No part of it is empty.
    assert "" not in name.split(":")
    page.close()


def test_a_buyer_who_presses_again_is_not_asked_to_pay_twice(
    open_page: Callable[..., Page], app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    page.clock.install()
    connect(page, app, account)
    asked = app.read()
    page.clock.run_for(61_000)
    expect(page.get_by_text("Your wallet has not answered.")).to_be_visible()
    pay_button(page).tap()
    assert app.read() == asked
    # And a late answer is heard.
    page.clock.run_for(61_000)
    app.send({"id": asked["id"], "error": DECLINED})
    expect(page.get_by_text(CANCELLED)).to_be_visible()


@pytest.mark.parametrize(
    ("event", "payload", "said"),
    [
        ("connect_error", {"code": 300, "message": "declined"}, CANCELLED),
        ("connect_error", {"code": 1, "message": "bad"}, NO_ACCOUNT),
        ("connect_error", {"code": "constructor"}, NO_ACCOUNT),
        ("connect_error", None, NO_ACCOUNT),
        ("connect", {"items": []}, NO_ACCOUNT),
        ("connect", {"items": "ton_addr"}, PROBLEM),
        ("connect", None, NO_ACCOUNT),
        (
            "connect",
            {"items": [{"name": "ton_addr", "address": f"0:{'ab' * 32}", "network": "-239"}]},
            "did not switch to TON",
        ),
        ("connect", {"items": [{"name": "ton_addr", "address": {"no": "address"}}]}, UNPREPARED),
        ("connect", {"items": [{"name": "ton_addr", "address": f"0:{'ab' * 32}"}]}, "does not have enough"),
    ],
    ids=["declined", "bad", "no code", "nothing", "locked", "no list", "empty", "network", "nonsense", "no money"],
)
def test_a_wallet_that_does_not_connect_is_told_in_words_and_asked_anew(
    event: str, payload: Any, said: str, open_page: Callable[..., Page], app: RelayedApp, complaints: list[str]
) -> None:
    page = open_page()
    pay_button(page).tap()
    app.open(opened_by_a_tap(page, into_wallet(page)))
    app.tell(event, payload)
    expect(page.locator("#wallets").get_by_text(said)).to_be_visible()
    expect(pay_button(page)).to_be_enabled()
    # Another session, for the account may be another one now.
    pay_button(page).tap()
    expect(page.get_by_text(CONFIRM)).to_be_visible()
    query = parse_qs(urlsplit(into_wallet(page).get_attribute("href") or "").query)
    assert query["id"] != [app.page]
    forget(complaints, "status of 40")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": DECLINED}, CANCELLED),
        ({"error": {"code": 1, "message": "Bad request"}}, PROBLEM),
        ({"error": {"code": "__proto__"}}, PROBLEM),
        ({"error": "no"}, PROBLEM),
        ({"result": ""}, PROBLEM),
        ({"result": {"boc": "te6ccg"}}, PROBLEM),
        ({}, PROBLEM),
    ],
    ids=["declined", "bad", "no code", "no object", "empty", "no text", "nothing"],
)
def test_what_is_no_yes_is_told_in_words(
    answer: dict[str, Any], said: str, open_page: Callable[..., Page], app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    connect(page, app, account)
    app.send({"id": app.read()["id"]} | answer)
    expect(page.get_by_text(said)).to_be_visible()
    expect(pay_button(page)).to_be_enabled()
    assert page.evaluate("localStorage.getItem('florin:sent')") is None


def test_a_wallet_that_ends_the_connection_is_told_in_words(
    open_page: Callable[..., Page], app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    connect(page, app, account)
    app.read()
    app.tell("disconnect", {})
    expect(page.get_by_text(PROBLEM)).to_be_visible()
    assert page.evaluate("Object.keys(sessionStorage)") == []


def test_what_a_lying_bridge_sends_is_passed_over(
    open_page: Callable[..., Page], bridge: Bridge, app: RelayedApp, account: dict[str, Any]
) -> None:
    page = open_page()
    connect(page, app, account)
    asked = app.read()
    yes = {"id": asked["id"], "result": "te6ccg"}
    stranger = RelayedApp(bridge, PrivateKey.generate(), app.page)
    # Another wallet's answer, and one that names the right wallet.
    stranger.send(yes)
    bridge.put(app.page, json.dumps({"from": app.id, "message": stranger.sealed(yes)}))
    stranger.tell("connect", {"items": [account]})
    stranger.tell("disconnect", {})
    # The wallet's own: of another request, too long, an event that was heard, and of one that is no answer.
    app.send(yes | {"id": str(int(asked["id"]) - 1)})
    app.send(yes | {"padding": "x" * 64 * 1024})
    app.events = 0
    app.tell("disconnect", {})
    app.send(["te6ccg"])
    app.send(None)
    for data in ("heartbeat", "{", "[]", '{"from": 1}', json.dumps({"from": app.id, "message": "%"})):
        bridge.put(app.page, data)
    app.send({"id": asked["id"], "error": DECLINED})
    expect(page.get_by_text(CANCELLED)).to_be_visible()
    # What was answered is answered.
    app.send(yes)
    pay_button(page).tap()
    assert app.read()["id"] != asked["id"]
    expect(page.get_by_text(CONFIRM)).to_be_visible()


def test_a_bridge_that_cannot_be_reached_is_told_in_words_and_the_next_press_asks_again(
    open_page: Callable[..., Page], bridge: Bridge, complaints: list[str]
) -> None:
    page = open_page()
    bridge.refuses = True
    pay_button(page).tap()
    expect(page.get_by_text(UNPREPARED)).to_be_visible()
    expect(into_wallet(page)).to_have_count(0)
    bridge.refuses = False
    pay_button(page).tap()
    expect(into_wallet(page)).to_be_visible()
    forget(complaints, "status of 400")


def test_of_what_a_bridge_did_not_take_the_page_does_not_say_that_nothing_was_sent(
    open_page: Callable[..., Page], bridge: Bridge, app: RelayedApp, account: dict[str, Any], complaints: list[str]
) -> None:
    page = open_page()
    connect(page, app, account)
    app.send({"id": app.read()["id"], "error": DECLINED})
    expect(page.get_by_text(CANCELLED)).to_be_visible()
    page.clock.install()
    bridge.refuses = True
    pay_button(page).tap()
    expect(page.get_by_text(CONFIRM)).to_be_visible()
    for _ in range(2):
        with page.expect_response(lambda answer: "/message?" in answer.url):
            page.clock.run_for(2_000)
    expect(page.get_by_text(UNSURE)).to_be_visible()
    forget(complaints, "status of 400")


SEALING = """async ([session, message, data]) => {
  const { linkTo, seal, unseal } = await import("/static/js/relay.js");
  return [seal(session, message), unseal(session, data)];
}"""
LINKS = """async ([universal, id, request]) => {
  const { linkTo } = await import("/static/js/relay.js");
  return linkTo(universal, id, request);
}"""


def test_what_is_sealed_is_what_other_programs_seal(open_page: Callable[..., Page], app: RelayedApp) -> None:
    page = open_page()
    mine = PrivateKey.generate()
    app.page = bytes(mine.public_key).hex()
    session = {"secret": bytes(mine).hex(), "wallet": app.id}
    told = {"id": "1", "result": "Ж"}
    data = json.dumps({"from": app.id, "message": app.sealed(told)})
    sealed, opened = page.evaluate(SEALING, [session, {"id": "7", "name": "Ж"}, data])
    assert opened == {"from": app.id, "told": told}
    assert app.opened(sealed) == {"id": "7", "name": "Ж"}
    assert page.evaluate(SEALING, [session, {}, data])[0] != page.evaluate(SEALING, [session, {}, data])[0]


def test_links_into_telegram_are_written_as_its_wallet_reads_them(open_page: Callable[..., Page]) -> None:
    page = open_page()
    universal, page_id = "https://t.me/wallet/start", "ab" * 32
    request = {"version": 2, "message": {"manifestUrl": "https://a-b.example/m_1", "items": [{"name": "ton_addr"}]}}
    link = page.evaluate(LINKS, [universal, page_id, request])
    [start] = parse_qs(urlsplit(link).query)["startapp"]
    assert set(start) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
    # As decodeTelegramUrlParameters of ton-connect/sdk reads it.
    plain = start.removeprefix("tonconnect-").replace("--", "%").replace("__", "=").replace("-", "&")
    query = parse_qs(plain)
    assert (query["v"], query["id"], query["ret"]) == (["2"], [page_id], ["back"])
    assert json.loads(query["r"][0]) == request["message"]
    assert page.evaluate(LINKS, [universal, page_id, None]).endswith(
        f"?startapp=tonconnect-v__2-id__{page_id}-ret__back"
    )
