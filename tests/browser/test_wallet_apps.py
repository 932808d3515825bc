"""Wallet apps on a phone: what a tap opens, what is remembered, and what the page says when nothing opened.

No app is started: web addresses are answered with nothing, and other links end at the browser, which reports them.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from tests.browser import axe
from tests.browser.conftest import GUIDED, StubWallet
from tests.browser.test_screenshots import scanned
from tests.browser.test_wallets import BASE, BUYER, accept
from tests.checkouts.factories import ADDRESS, make_exact_choice, make_page_checkout, make_test_checkout

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

OPENING_MS = 2_500
ARRIVING_MS = 1_500
HELP = "Nothing opened? The app may not be installed."
ELSEWHERE = "This app can't pay on Tron from here."
INJECTED = "window.ethereum = { request: async () => null };"
# Chromium says so of a link that no program on this machine takes.
LAUNCH = "Failed to launch"
PRESS = "(part) => part.click()"
WENT_BEHIND = "window.dispatchEvent(new Event('blur'))"
# After all of the page's own listeners.
RECORD = """() => {
  window.leads = "";
  addEventListener("click", (event) => {
    if (!event.defaultPrevented) window.leads = event.target.closest("a").href;
    event.preventDefault();
  }, { once: true });
}"""
TELEGRAM_APP = """
window.events = [];
window.TelegramWebviewProxy = { postEvent: (type, data) => window.events.push([type, JSON.parse(data)]) };
"""
# As Telegram's web client frames a mini app (telegram-tt, WebAppModalTabContent.tsx).
TELEGRAM_WEB = """<!doctype html><title>Telegram</title><link rel="icon" href="data:,">
<style>iframe { width: 100%; height: 800px; border: 0; }</style>
<iframe sandbox="allow-scripts allow-same-origin allow-popups allow-forms allow-modals
  allow-storage-access-by-user-activation" src="PAGE"></iframe>
<script>
  window.events = [];
  addEventListener("message", ({ data }) => window.events.push(JSON.parse(data)));
</script>"""


def links_of(page: Page) -> Locator:
    return page.locator("[data-app]")


def opened_by_a_tap(page: Page, link: Locator) -> str:
    """Tap a link and return the address that the browser goes to; what it opens is closed."""
    return _opened(page, lambda: link.tap(no_wait_after=True))


def opened_by_enter(page: Page, link: Locator) -> str:
    """The same by keyboard: a tap waits for frames, which there are none of while the clock stands still."""
    return _opened(page, lambda: link.press("Enter", no_wait_after=True))


def _opened(page: Page, act: Callable[[], None]) -> str:
    ours = page.url.partition("/c/")[0]

    def leads_away(request: Request) -> bool:
        return request.is_navigation_request() and not request.url.startswith(ours)

    with page.context.expect_event("request", leads_away) as asked:
        act()
    for other in page.context.pages:
        if other != page:
            other.close()
    address: str = asked.value.url
    return address


def would_open(page: Page, link: Locator) -> str:
    """Press a link and return the address that it leads to, without going there.

    For a page's second link and later ones: Chromium starts a program only once for each gesture of a person, and is before the
    page once it did.
    """
    page.evaluate(RECORD)
    return str(link.evaluate("(link) => { link.click(); return window.leads; }"))


def forget_launches(complaints: list[str]) -> None:
    complaints[:] = [words for words in complaints if LAUNCH not in words]


@pytest.mark.parametrize("chain", ["base", "solana", "ton", "tron"])
def test_a_tap_opens_exactly_the_link_of_the_app_and_the_checkout_stays(
    chain: str, open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_exact_choice(), f"?chain={chain}")
    here = page.url
    more = page.get_by_text("More wallets")
    if more.count():
        more.tap()
    links = links_of(page).all()
    assert len(links) >= 2
    # As browsers write an address without a path.
    wanted = [(link.get_attribute("href") or "").replace("bkcode.vip?", "bkcode.vip/?") for link in links]
    assert opened_by_a_tap(page, links[0]) == wanted[0]
    assert [would_open(page, link) for link in links] == wanted
    assert page.url == here
    expect(page.locator("#copy-address")).to_be_visible()
    forget_launches(complaints)


def test_the_last_used_app_comes_first_and_three_stay_unfolded(
    open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_page_checkout())
    shown = page.locator("#apps > ol [data-app]")
    usual = ["Open Base App", "Open MetaMask", "Open Trust Wallet"]
    expect(shown).to_have_text(usual)
    page.get_by_text("More wallets").tap()
    opened_by_a_tap(page, page.get_by_role("link", name="Open Rainbow"))
    # A stub's window may leave the page in front.
    page.evaluate(WENT_BEHIND)
    page.reload()
    expect(shown).to_have_text(["Open Rainbow Last used", *usual[:2]])
    expect(page.locator("#apps .button--primary:visible")).to_have_text(["Open Rainbow Last used"])
    page.get_by_text("More wallets").tap()
    expect(page.get_by_role("link", name="Open Trust Wallet")).to_be_visible()
    expect(links_of(page)).to_have_count(7)
    # Only this browser knows.
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.getItem('florin:wallet')") == "rainbow"
    # A page that is drawn anew keeps the order.
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(shown.first).to_have_text("Open Rainbow Last used")
    forget_launches(complaints)


def test_an_app_that_did_not_open_is_not_the_last_used_one(
    open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_page_checkout(), clock=True)
    link = page.get_by_role("link", name="Open Base App")
    remembered = "localStorage.getItem('florin:wallet')"
    opened_by_enter(page, link)
    assert page.evaluate(remembered) is None
    page.clock.run_for(OPENING_MS + 100)
    expect(page.locator("[data-help=nothing]")).to_be_visible()
    # Who leaves the page now does so for another reason.
    page.evaluate(WENT_BEHIND)
    assert page.evaluate(remembered) is None
    # The second try opens it.
    would_open(page, page.get_by_role("link", name="Try again"))
    page.clock.run_for(500)
    page.evaluate(WENT_BEHIND)
    assert page.evaluate(remembered) == "base"
    forget_launches(complaints)


@pytest.mark.parametrize("remembered", ["nobody", "", '"]><script>', "tronlink"])
def test_a_memory_that_names_no_app_of_the_network_changes_nothing(
    remembered: str, open_phone: Callable[..., Page]
) -> None:
    # A window's first page, before ours, has no storage.
    script = f"if (location.host) localStorage.setItem('florin:wallet', {json.dumps(remembered)});"
    page = open_phone(make_page_checkout(), script=script)
    expect(page.locator("#apps > ol [data-app]").first).to_have_text("Open Base App")
    expect(page.get_by_text("Last used")).to_have_count(0)


def test_where_storage_is_refused_the_apps_still_open(open_phone: Callable[..., Page], complaints: list[str]) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } });"
    page = open_phone(make_page_checkout(), script=refuse)
    assert opened_by_a_tap(page, page.get_by_role("link", name="Open Base App")).startswith("cbwallet://miniapp?url=")
    forget_launches(complaints)


def test_when_nothing_opened_the_page_says_what_to_do_next(
    open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_page_checkout(), clock=True, permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator("[data-help=nothing]")).to_be_hidden()
    link = page.get_by_role("link", name="Open Base App")
    opened_by_enter(page, link)
    page.clock.run_for(OPENING_MS - 1)
    expect(page.locator("[data-help=nothing]")).to_be_hidden()
    page.clock.run_for(100)
    expect(page.locator("[data-help=nothing]")).to_be_visible()
    expect(page.locator("[data-help=elsewhere]")).to_be_hidden()
    expect(page.locator("#announcer")).to_have_text(HELP)
    again = page.get_by_role("link", name="Try again")
    assert would_open(page, again) == link.get_attribute("data-again")
    # Chromium hands the page no keys while it asks about a program.
    page.bring_to_front()
    copying = page.locator("#copy-link")
    copying.evaluate(PRESS)
    expect(copying).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith("?chain=base&token=USDC")
    page.get_by_role("link", name="Send by hand").evaluate(PRESS)
    heading = page.get_by_role("heading", name="Pay from another device, or send by hand")
    expect(heading).to_be_in_viewport()
    # Nothing is locked.
    expect(link).to_be_visible()
    expect(page.locator("#address")).to_have_text(ADDRESS)
    forget_launches(complaints)


@pytest.mark.parametrize(
    ("told", "goes_by"),
    [
        ({"platform": "Android", "brands": [{"brand": "Chromium"}, {"brand": "Google Chrome"}]}, "data-intent"),
        ({"platform": "Android", "brands": [{"brand": "Chromium"}, {"brand": "Android WebView"}]}, "href"),
        ({"platform": "Linux", "brands": [{"brand": "Chromium"}]}, "href"),
        (None, "href"),
    ],
    ids=["Chrome on Android", "inside an app", "a notebook with a touch screen", "Firefox or Safari"],
)
def test_the_second_try_of_phantom_is_an_intent_only_where_the_browser_follows_it(
    told: dict[str, Any] | None, goes_by: str, open_phone: Callable[..., Page]
) -> None:
    value = json.dumps(told) if told else "undefined"
    script = f"Object.defineProperty(navigator, 'userAgentData', {{ value: {value} }});"
    page = open_phone(make_exact_choice(), "?chain=solana", clock=True, script=script)
    # A web address would open a tab, which may take the focus.
    page.evaluate("document.querySelector('[data-app]').addEventListener('click', (event) => event.preventDefault())")
    link = page.get_by_role("link", name="Open Phantom")
    link.press("Enter")
    page.clock.run_for(OPENING_MS + 100)
    again = page.get_by_role("link", name="Try again")
    assert would_open(page, again) == link.get_attribute(goes_by)
    expect(again).to_have_attribute("target", "_blank" if goes_by == "href" else "")


@pytest.mark.parametrize(
    "sign",
    [
        "Object.defineProperty(document, 'hidden', { value: true }); document.dispatchEvent(new Event('visibilitychange'))",
        "window.dispatchEvent(new PageTransitionEvent('pagehide'))",
        "window.dispatchEvent(new Event('blur'))",
    ],
    ids=["hidden", "left", "behind"],
)
def test_when_the_page_went_behind_something_it_says_nothing(
    sign: str, open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_page_checkout(), clock=True)
    opened_by_enter(page, page.get_by_role("link", name="Open Base App"))
    page.clock.run_for(500)
    page.evaluate(sign)
    page.clock.run_for(2 * OPENING_MS)
    expect(page.locator("[data-help=nothing]")).to_be_hidden()
    forget_launches(complaints)


# What an app opens, with a stand-in for the wallet that it puts into the page.


def test_in_a_wallets_own_browser_its_button_takes_the_place_of_the_apps(
    open_phone: Callable[..., Page], live_server: Any, settings: Any
) -> None:
    settings.CHECKOUT_HOST = live_server.url
    checkout = make_page_checkout()
    outside = open_phone(checkout, "?chain=polygon&token=USDT&lang=en")
    link = outside.get_by_role("link", name="Open MetaMask").get_attribute("href") or ""
    opened = "http://" + link.removeprefix("https://link.metamask.io/dapp/")
    assert opened == f"{live_server.url}/c/{checkout.code}?chain=polygon&token=USDT&lang=en"
    inside = open_phone(checkout, opened.partition(checkout.code)[2], script=INJECTED)
    expect(inside.get_by_role("button", name="Pay with browser wallet")).to_be_visible()
    expect(inside.locator("#apps")).to_be_hidden()
    amounts = [page.get_by_role("group", name="Amount").inner_text() for page in (outside, inside)]
    assert amounts[0] == amounts[1]
    expect(inside.get_by_text("Send only USDT on Polygon.")).to_be_visible()


def test_in_a_browser_without_a_wallet_the_page_is_payable_by_hand(open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_page_checkout(), clock=True)
    page.clock.run_for(10_000)
    expect(page.locator("#wallets")).to_be_hidden()
    expect(page.get_by_text("This app can't pay")).to_be_hidden()
    expect(page.locator("#copy-address")).to_be_visible()


def test_a_wallet_that_cannot_pay_on_the_network_is_told_so_until_one_that_it_can_is_chosen(
    open_phone: Callable[..., Page], settings: Any
) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"TRON_GRID_URLS": "http://127.0.0.1:9"}
    page = open_phone(make_exact_choice(), "?chain=tron", clock=True, script=INJECTED)
    page.clock.run_for(ARRIVING_MS + 100)
    expect(page.locator("[data-help=elsewhere]")).to_be_visible()
    expect(page.locator("[data-help=nothing]")).to_be_hidden()
    expect(page.get_by_role("link", name="Try again")).to_be_hidden()
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()
    page.get_by_role("radio", name="USDC", exact=True).evaluate("(radio) => radio.click()")
    expect(page.get_by_role("button", name="Pay with browser wallet")).to_be_visible()
    page.clock.run_for(ARRIVING_MS + 100)
    expect(page.get_by_text("This app can't pay")).to_be_hidden()


# Counts how often the area of the buttons is there and hidden.
GAPS = """
window.gaps = 0;
new MutationObserver(() => {
  if (document.getElementById("wallets")?.hidden) window.gaps += 1;
}).observe(document.body, { subtree: true, childList: true });
"""


def test_the_button_keeps_its_place_when_another_network_is_chosen(page: Page, live_server: Any) -> None:
    wallet = StubWallet(BUYER, BASE, accept)
    wallet.install(page)
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with Test Wallet")
    expect(button).to_be_visible()
    page.evaluate(GAPS)
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    expect(button).to_be_visible()
    assert page.evaluate("window.gaps") == 0
    assert page.locator("#wallets").evaluate("(area) => area.style.minHeight") == ""


# Telegram.


def test_in_telegrams_app_the_page_is_opened_in_the_phones_browser(open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_page_checkout(), script=TELEGRAM_APP)
    button = page.get_by_role("link", name="Open in your browser")
    expect(button).to_be_visible()
    for link in links_of(page).all():
        expect(link).to_be_hidden()
    button.tap()
    assert page.evaluate("window.events") == [["web_app_open_link", {"url": button.get_attribute("href")}]]
    assert len(page.context.pages) == 1


def test_in_telegrams_app_tons_wallets_are_opened_by_its_own_event(open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_exact_choice(), "?chain=ton", script=TELEGRAM_APP, clock=True)
    expect(page.get_by_role("link", name="Open in your browser")).to_have_count(0)
    link = page.get_by_role("link", name="Open MyTonWallet")
    link.press("Enter")
    wanted = link.get_attribute("href") or ""
    assert wanted.startswith("https://my.tt/transfer/")
    assert page.evaluate("window.events") == [["web_app_open_link", {"url": wanted}]]
    page.clock.run_for(OPENING_MS + 100)
    page.get_by_role("link", name="Try again").press("Enter")
    assert page.evaluate("window.events.length") == 2


def test_in_telegrams_web_client_the_frame_keeps_the_checkout(
    open_phone: Callable[..., Page], live_server: Any
) -> None:
    checkout = make_exact_choice()
    page = open_phone(checkout)
    framed = TELEGRAM_WEB.replace("PAGE", f"https://pay.example/c/{checkout.code}?chain=ton")

    def serve(route: Route) -> None:
        ours = route.request.url.replace("https://pay.example", live_server.url)
        route.fulfill(response=route.fetch(url=ours))

    page.context.route("https://web.telegram.org/", lambda route: route.fulfill(content_type="text/html", body=framed))
    # A page on https may ask nothing of this machine.
    page.context.route("https://pay.example/**", serve)
    page.goto("https://web.telegram.org/")
    frame = page.frames[1]
    link = frame.get_by_role("link", name="Open Tonkeeper")
    expect(link).to_be_visible()
    frame.evaluate(GUIDED)
    link.tap()
    page.wait_for_function("() => window.events.length === 1")
    assert page.evaluate("window.events") == [
        {"eventType": "web_app_open_link", "eventData": {"url": link.get_attribute("href")}}
    ]
    expect(frame.locator("#copy-address")).to_be_visible()
    assert len(page.context.pages) == 1
    # The page asks on, and what it asks is nowhere once it is not routed.
    page.goto("about:blank")
    page.context.unroute_all(behavior="ignoreErrors")


# For everybody.


def test_without_scripts_every_way_is_a_link(open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_page_checkout(), java_script_enabled=False)
    for link in page.locator("#apps > ol [data-app]").all():
        expect(link).to_be_visible()
        assert (link.get_attribute("href") or "").startswith(("https://", "cbwallet://"))
    expect(page.locator("[data-help=nothing]")).to_be_hidden()
    page.get_by_text("More wallets").tap()
    expect(page.get_by_role("link", name="Open Rainbow")).to_be_visible()
    expect(page.locator("#address")).to_have_text(ADDRESS)


def test_an_app_is_opened_by_keyboard_too(open_phone: Callable[..., Page], complaints: list[str]) -> None:
    page = open_phone(make_page_checkout(), clock=True)
    link = page.get_by_role("link", name="Open Base App")
    assert opened_by_enter(page, link) == link.get_attribute("href")
    page.clock.run_for(OPENING_MS + 100)
    expect(page.locator("[data-help=nothing]")).to_be_visible()
    forget_launches(complaints)


@pytest.mark.parametrize("chain", ["base", "ton"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sheet_is_clean_for_axe_with_its_help_open(
    chain: str, scheme: Any, open_phone: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_phone(make_exact_choice(), f"?chain={chain}", clock=True, color_scheme=scheme)
    # Or a web address would open a tab, which may take the focus.
    page.evaluate("document.querySelector('[data-app]').addEventListener('click', (event) => event.preventDefault())")
    links_of(page).first.press("Enter")
    page.clock.run_for(OPENING_MS + 100)
    expect(page.locator("[data-help=nothing]")).to_be_visible()
    page.clock.resume()
    assert axe.violations(page) == []
    forget_launches(complaints)


@pytest.mark.parametrize("language", ["ar", "de", "fr", "ru", "vi"])
def test_the_sheet_fits_the_smallest_phone_in_long_languages(language: str, open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_exact_choice(), f"?chain=solana&lang={language}", viewport={"width": 320, "height": 640})
    page.locator(".apps-more").evaluate("(part) => { part.open = true; }")
    page.locator("#apps-help").evaluate("(part) => { part.hidden = false; }")
    parts = "[...document.querySelectorAll('#apps *')].map((part) => part.getBoundingClientRect())"
    assert page.evaluate(f"{parts}.every(({{ left, right }}) => left >= 0 && right <= 320)")
    for link in links_of(page).all():
        box = link.bounding_box()
        assert box
        assert box["height"] >= 44


def test_in_test_mode_there_are_no_apps(open_phone: Callable[..., Page]) -> None:
    page = open_phone(make_test_checkout())
    expect(page.locator("#apps")).to_have_count(0)
    expect(page.get_by_text("Pay from another device")).to_have_count(0)


# On a computer.


def test_on_a_computer_the_page_has_no_apps_and_asks_for_none(page: Page, live_server: Any) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    expect(page.locator("#apps")).to_be_hidden()
    expect(page.locator("#by-hand")).to_be_hidden()
    with page.expect_response(re.compile("/status")):
        pass
    assert not any("apps.js" in url or "/qr" in url for url in loaded)


def test_on_a_computer_the_wallet_comes_before_the_code_and_the_code_before_copying(
    page: Page, live_server: Any
) -> None:
    StubWallet(BUYER, BASE, accept).install(page)
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    button = page.get_by_role("button", name="Pay with Test Wallet")
    expect(button).to_be_visible()
    tops = [part.bounding_box() for part in (button, page.get_by_role("img", name="QR code of the payment address"))]
    assert all(tops)
    assert tops[0]["y"] + tops[0]["height"] <= tops[1]["y"]  # type: ignore[index]
    order = page.evaluate(
        "[...document.querySelectorAll('#wallets button, .target .qr, #copy-amount')].map((part) => part.id || part.className)"
    )
    assert [name.partition(" ")[0] for name in order] == ["button", "qr", "copy-amount"]


def test_a_code_of_the_page_is_beside_the_payments_and_drawn_when_asked_for(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}?chain=polygon&token=USDT")
    with page.expect_response("**/qr?chain=polygon&token=USDT") as answer:
        page.get_by_text("Pay with the wallet on your phone").click()
    assert answer.value.ok
    picture = page.get_by_role("img", name="QR code of this page")
    expect(picture).to_be_visible()
    picture.evaluate("(image) => image.decode()")
    assert scanned(page, ".phone img").endswith("?chain=polygon&token=USDT")
    # It never takes the place of the code of the address.
    assert scanned(page) == ADDRESS
