"""The hosted page in a real browser: choosing, copying, waiting, and every way it can end."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from tests.browser.conftest import PHONE
from tests.browser.test_screenshots import VIEWS, scanned
from tests.checkouts.factories import (
    ADDRESS,
    HEAD,
    make_completed,
    make_exact_checkout,
    make_expired,
    make_page_checkout,
    make_seen,
    make_underpaid,
    move,
    pay,
)
from wallets.models import ChainCursor, Transfer
from wallets.states import TransferState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

SHOP = re.compile(r"^https://shop\.example/")
# The script of a page's waits is loaded where one begins: this waits for it, and for what its own importer does with it.
COUNTING = "import('/static/js/waits.js').then(() => {})"


@pytest.fixture
def open_page(page: Page, live_server: Any) -> Callable[..., Page]:
    """Open a checkout's page, with a shop beyond it that answers."""
    page.route(SHOP, lambda route: route.fulfill(content_type="text/html", body="<h1>Thanks</h1>"))

    def open_one(checkout: Checkout, query: str = "") -> Page:
        page.goto(f"{live_server.url}/c/{checkout.code}{query}")
        return page

    return open_one


def heading(page: Page, words: str) -> None:
    """Wait for the page's heading."""
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


def test_choosing_a_network_and_a_token_changes_what_to_send(open_page: Callable[..., Page]) -> None:
    page = open_page(make_page_checkout())
    expect(page.get_by_text("Send only USDC on Base.")).to_be_visible()
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    page.get_by_role("radio", name="USDT", exact=True).check(force=True)
    expect(page.get_by_text("Send only USDT on Polygon.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?chain=polygon&token=USDT$"))
    page.reload()
    expect(page.get_by_text("Send only USDT on Polygon.")).to_be_visible()


def test_another_token_brings_its_networks_and_one_of_them_is_chosen(open_page: Callable[..., Page]) -> None:
    page = open_page(make_page_checkout())
    page.get_by_role("radio", name="USDT", exact=True).check(force=True)
    expect(page.get_by_text("Send only USDT on Polygon.")).to_be_visible()
    expect(page.get_by_role("radio", name="Base")).to_have_count(0)
    expect(page.get_by_role("radio", name="USDT", exact=True)).to_be_focused()
    expect(page).to_have_url(re.compile(r"\?token=USDT$"))


def test_the_networks_are_chosen_by_keyboard_and_focus_stays(open_page: Callable[..., Page]) -> None:
    page = open_page(make_page_checkout())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to payment")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="USDC", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="Base")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    expect(page.get_by_role("radio", name="Polygon")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Send 49.00 USDC on Polygon.")


def test_while_another_network_is_awaited_nothing_of_the_one_before_can_be_used(
    page: Page, open_page: Callable[..., Page]
) -> None:
    open_page(make_page_checkout())
    held: list[Any] = []
    page.route("**/choose", lambda route: held.append(route))
    with page.expect_request("**/choose"):
        page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.locator(".sheet[inert]")).to_have_count(1)
    copy = page.get_by_role("button", name="Copy the address")
    copy.focus()
    expect(copy).not_to_be_focused()
    held[0].continue_()
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    expect(page.locator(".sheet[inert]")).to_have_count(0)
    copy.focus()
    expect(copy).to_be_focused()


def test_who_goes_back_after_a_choice_that_left_the_page_sees_the_network_that_it_is_of(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    open_page(make_page_checkout())
    page.route("**/choose", lambda route: route.fulfill(status=500), times=1)
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Send only USDC on Base.")).to_be_visible()
    expect(page.get_by_role("radio", name="Base")).to_be_checked()
    expect(page.locator(".sheet[inert]")).to_have_count(0)
    complaints.clear()


def test_without_a_connection_the_page_stays_and_shows_the_network_that_it_is_of(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    open_page(make_page_checkout())
    page.context.set_offline(True)
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_role("radio", name="Base")).to_be_checked()
    expect(page.locator("#address")).to_have_text(ADDRESS)
    expect(page.locator(".sheet[inert]")).to_have_count(0)
    page.context.set_offline(False)
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    complaints.clear()


@pytest.mark.parametrize(
    ("button", "text", "said"),
    [("Copy the amount", "49.00", "Amount copied"), ("Copy the address", ADDRESS, "Address copied")],
)
def test_copying_takes_the_whole_value_and_says_so(
    button: str, text: str, said: str, page: Page, open_page: Callable[..., Page]
) -> None:
    page.clock.install()
    open_page(make_page_checkout())
    copy = page.get_by_role("button", name=button)
    # The button says so for less than two seconds, which a busy machine may need to look.
    page.clock.pause_at(timezone.now() + timedelta(seconds=10))
    copy.focus()
    page.keyboard.press("Enter")
    expect(copy).to_contain_text("Copied")
    page.clock.resume()
    expect(page.locator("#announcer")).to_have_text(said)
    assert page.evaluate("navigator.clipboard.readText()") == text
    expect(copy).to_be_focused()
    expect(copy).to_have_text(re.compile(r"^\s*Copy\s*$"))


def test_what_the_browser_does_not_copy_is_not_called_copied(page: Page, open_page: Callable[..., Page]) -> None:
    page.add_init_script("""
        navigator.clipboard.writeText = async () => { throw new DOMException("no", "NotAllowedError"); };
        document.execCommand = () => { window.asked = true; return false; };
    """)
    open_page(make_page_checkout())
    copy = page.get_by_role("button", name="Copy the address")
    copy.click()
    page.wait_for_function("() => window.asked")
    # A moment for what a copy would have done.
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))")
    expect(copy).to_have_text(re.compile(r"^\s*Copy\s*$"))
    expect(page.locator("#announcer")).to_be_empty()


def test_an_amount_has_thousands_marks_that_no_selection_copies(open_page: Callable[..., Page]) -> None:
    page = open_page(make_page_checkout(amount="1234567.50"))
    amount = page.get_by_role("group", name="Amount")
    drawn = amount.evaluate(
        "(part) => [...part.querySelectorAll('.thousands')].map((group) => getComputedStyle(group, '::after').content)"
    )
    assert drawn == ['","', '","']
    amount.select_text()
    assert page.evaluate("String(getSelection())").startswith("1234567.50")
    page.get_by_role("button", name="Copy the amount").click()
    expect(page.locator("#announcer")).to_have_text("Amount copied")
    assert page.evaluate("navigator.clipboard.readText()") == "1234567.50"


@pytest.mark.parametrize("language", ["ru", "fr", "id"])
def test_a_badge_covers_no_network_s_name(language: str, page: Page, live_server: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/c/{make_exact_checkout().code}?lang={language}")
    assert page.locator(".network__badge").count() == 2
    covered = page.evaluate(
        "[...document.querySelectorAll('.network__badge')].filter((badge) => {"
        " const [own, card] = [badge, badge.parentNode].map((part) => part.getBoundingClientRect());"
        " const name = badge.nextElementSibling.getBoundingClientRect();"
        " return own.bottom > name.top + 4 || own.left < card.left; }).length"
    )
    assert covered == 0


def test_without_scripts_the_page_still_takes_a_choice(
    live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    expect(page.locator("#address")).to_have_text(ADDRESS)
    for copy in page.locator("[data-copy]").all():
        expect(copy).to_be_hidden()
    page.get_by_role("radio", name="Polygon").check(force=True)
    page.get_by_role("button", name="Show payment details").click()
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()


# A font that comes in after the first words moves them by less than this; one line that moves a page is fifty times as much.
STILL = 0.001
SHIFTS = """() => new Promise((resolve) => new PerformanceObserver((list) =>
  resolve(list.getEntries().reduce((sum, shift) => sum + shift.value, 0))
).observe({ type: "layout-shift", buffered: true }) ?? setTimeout(() => resolve(0), 500))"""


@pytest.mark.parametrize("has_wallet", [False, True])
def test_on_a_phone_ways_into_a_wallet_come_first_and_nothing_moves(
    has_wallet: bool, open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    context = open_context(viewport=PHONE, is_mobile=True, has_touch=True)
    if has_wallet:
        context.add_init_script("window.ethereum = { request: async () => null }")
    page = context.new_page()
    # On a busy machine a network may be called slow meanwhile, which is news and moves the page.
    page.route("**/status", lambda route: route.fulfill(status=304))
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    link = page.get_by_role("link", name="Open MetaMask")
    button = page.get_by_role("button", name="Pay with browser wallet")
    shown, hidden = (button, link) if has_wallet else (link, button)
    expect(shown).to_be_visible()
    expect(hidden).to_be_hidden()
    first, amount = shown.bounding_box(), page.locator("#copy-amount").bounding_box()
    assert first
    assert amount
    assert first["y"] + first["height"] < amount["y"]
    assert first["height"] >= 44
    assert page.evaluate(SHIFTS) < STILL


def test_the_qr_code_on_the_screen_holds_the_plain_address(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    for viewport, scheme in VIEWS.values():
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme)
        assert scanned(page) == ADDRESS, (viewport, scheme)


def test_a_payment_is_followed_to_the_shop_without_a_reload(open_page: Callable[..., Page]) -> None:
    checkout = make_page_checkout()
    page = open_page(checkout)
    page.evaluate("window.sameDocument = true")
    transfer = pay(checkout)
    move(checkout, CheckoutStatus.PROCESSING)
    heading(page, "Payment seen. Confirming…")
    expect(page.locator("#announcer")).to_contain_text("Payment seen")
    expect(page.get_by_text("5 of 12 confirmations")).to_be_visible()
    expect(page).to_have_title("Confirming your payment · Halden Roasters")
    ChainCursor.objects.update(head=HEAD + 4)
    expect(page.get_by_text("9 of 12 confirmations")).to_be_visible()
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.CONFIRMED, confirmed_at=timezone.now())
    assert page.evaluate("window.sameDocument")
    move(checkout, CheckoutStatus.COMPLETED)
    heading(page, "Payment complete")
    page.wait_for_url(SHOP)
    assert page.url == (f"https://shop.example/thanks?order=77&checkout_id={checkout.public_id}&status=completed")


def test_the_shop_is_opened_after_exactly_two_seconds(page: Page, open_page: Callable[..., Page]) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    open_page(make_completed())
    heading(page, "Payment complete")
    page.evaluate(COUNTING)
    page.clock.run_for(1999)
    expect(page.get_by_role("link", name="Return now")).to_be_visible()
    assert "/c/" in page.url
    page.clock.run_for(1)
    page.wait_for_url(SHOP)


def test_the_way_to_the_shop_counts_down_and_can_be_stopped(page: Page, open_page: Callable[..., Page]) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    open_page(make_completed())
    expect(page.get_by_text("Taking you back to Halden Roasters in 2 s.")).to_be_visible()
    page.evaluate(COUNTING)
    page.clock.run_for(1000)
    expect(page.get_by_text("Taking you back to Halden Roasters in 1 s.")).to_be_visible()
    page.get_by_role("button", name="Stay here").press("Enter")
    page.clock.run_for(10_000)
    expect(page.get_by_text("You can close this page.")).to_be_visible()
    expect(page.get_by_text("Taking you back")).to_be_hidden()
    expect(page.get_by_role("link", name="Return now")).to_be_focused()
    page.reload()
    page.clock.run_for(10_000)
    expect(page.get_by_text("You can close this page.")).to_be_visible()
    assert "/c/" in page.url


def test_a_page_that_is_opened_later_stays(page: Page, open_page: Callable[..., Page]) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    earlier = timezone.now() - timedelta(minutes=6)
    open_page(move(make_completed(), CheckoutStatus.COMPLETED, paid_at=earlier))
    page.clock.run_for(10_000)
    expect(page.get_by_text("You can close this page.")).to_be_visible()
    expect(page.get_by_role("link", name="Return to Halden Roasters")).to_be_visible()


def test_each_payment_is_followed_to_the_shop_once_whatever_was_paid_between(
    page: Page, open_page: Callable[..., Page]
) -> None:
    first, second = make_completed(), make_completed()
    for checkout in (first, second):
        open_page(checkout)
        page.wait_for_url(SHOP)
    open_page(first)
    expect(page.locator("#returning")).to_have_class(re.compile("is-over"))


def test_a_page_that_hears_of_a_payment_late_still_returns(page: Page, open_page: Callable[..., Page]) -> None:
    checkout = make_seen()
    open_page(checkout)
    earlier = timezone.now() - timedelta(hours=1)
    move(checkout, CheckoutStatus.COMPLETED, paid_at=earlier)
    page.wait_for_url(SHOP)


def test_going_back_from_the_shop_does_not_lead_to_another_redirect(page: Page, open_page: Callable[..., Page]) -> None:
    page.goto("about:blank")
    open_page(make_completed())
    page.wait_for_url(SHOP)
    page.go_back()
    assert page.url == "about:blank"


def test_a_paid_page_without_a_shop_holds_still(open_page: Callable[..., Page]) -> None:
    page = open_page(make_completed(redirect_url=""))
    heading(page, "Payment complete")
    expect(page.get_by_text("You can close this page.")).to_be_visible()


def test_a_part_payment_asks_for_the_rest_at_the_same_address(open_page: Callable[..., Page]) -> None:
    checkout = make_page_checkout()
    page = open_page(checkout)
    pay(checkout, 20_000_000, confirmations=12)
    move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)
    heading(page, "Almost there")
    expect(page.locator("#announcer")).to_contain_text("29.00 USDC left to pay")
    expect(page.get_by_role("group", name="Still to send")).to_have_text("29.00USDC")
    expect(page.locator("#address")).to_have_text(ADDRESS)


def test_the_rest_may_be_paid_on_another_network(open_page: Callable[..., Page]) -> None:
    page = open_page(make_underpaid())
    page.get_by_text("Pay the rest on another network").click()
    page.get_by_role("radio", name="Polygon").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    expect(page.get_by_role("radio", name="Polygon")).to_be_focused()


def test_the_address_goes_when_the_time_is_over_and_the_page_ends_expired(open_page: Callable[..., Page]) -> None:
    now = timezone.now()
    times = (now - timedelta(minutes=30), now + timedelta(seconds=10))
    checkout = make_page_checkout(created_at=times[0], expires_at=times[1])
    page = open_page(checkout)
    expect(page.locator("#address")).to_have_text(ADDRESS)
    expect(page.get_by_role("timer")).to_have_class(re.compile("is-short"))
    heading(page, "This checkout has expired")
    expect(page.get_by_text("If you paid in time, stay here.")).to_be_visible()
    assert ADDRESS not in page.content()
    move(checkout, CheckoutStatus.EXPIRED)
    expect(page.get_by_text(checkout.public_id)).to_be_visible()
    heading(page, "This checkout has expired")


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_on_the_narrowest_phone_an_expired_page_clips_nothing(language: str, page: Page, live_server: Any) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(f"{live_server.url}/c/{make_expired().code}?lang={language}")
    expect(page.locator("#tx")).to_be_visible()
    clipped = page.evaluate(
        "[...document.querySelectorAll('.sheet *')].filter((part) =>"
        " part.getBoundingClientRect().right > part.closest('.sheet').getBoundingClientRect().right + 0.5"
        ").map((part) => part.outerHTML.slice(0, 80))"
    )
    assert clipped == []


def test_the_address_goes_when_the_time_is_over_even_if_the_server_is_away(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    page.clock.install()
    open_page(make_page_checkout())
    expect(page.locator("#address")).to_be_visible()
    page.route("**/status*", lambda route: route.abort())
    with page.expect_event("requestfailed"), page.expect_console_message():
        page.clock.fast_forward("31:00")
    expect(page.locator("#address")).to_be_hidden()
    expect(page.get_by_role("timer")).to_have_text("00:00")
    assert all("ERR_FAILED" in text for text in complaints)
    complaints.clear()


# A stream that begins well, and of which nothing more is heard, not even its end.
SILENT_STREAM = """
window.streams = [];
window.EventSource = class extends EventTarget {
  readyState = 1;
  constructor() {
    super();
    window.streams.push(this);
    setTimeout(() => this.dispatchEvent(new Event("status")));
  }
  close() { this.readyState = 2; }
};
"""
SEE = """(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_who_comes_back_from_a_wallet_gets_a_new_stream(page: Page, open_page: Callable[..., Page]) -> None:
    page.add_init_script(SILENT_STREAM)
    open_page(make_page_checkout())
    page.wait_for_function("() => window.streams.length === 1")
    page.evaluate(SEE, True)
    assert page.evaluate("window.streams[0].readyState") == 1
    page.evaluate(SEE, False)
    page.wait_for_function("() => window.streams.length === 2")
    assert page.evaluate("window.streams[0].readyState") == 2


# Ten minutes go by on the wall, and none for `performance.now()`.
SLEEP = "(() => { const now = Date.now; Date.now = () => now() + 600_000; })()"


def test_after_a_phone_slept_the_time_left_is_right_even_if_the_server_is_away(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    open_page(make_page_checkout())
    expect(page.get_by_role("timer")).to_have_text(re.compile("29:|30:00"))
    page.route("**/status*", lambda route: route.abort())
    page.evaluate(SLEEP)
    expect(page.get_by_role("timer")).to_have_text(re.compile("19:"))
    page.evaluate(SLEEP)
    page.evaluate(SLEEP)
    expect(page.get_by_role("timer")).to_have_text("00:00")
    expect(page.locator("#address")).to_be_hidden()
    # It goes on asking until it is left.
    page.goto("about:blank")
    complaints.clear()


def test_a_clock_that_is_put_right_takes_no_time_from_the_buyer(open_page: Callable[..., Page]) -> None:
    page = open_page(make_page_checkout())
    page.evaluate("document.getElementById('panel').dataset.mark = 'mine'")
    page.evaluate(SLEEP)
    expect(page.locator("#panel:not([data-mark])")).to_be_attached()
    expect(page.get_by_role("timer")).to_have_text(re.compile("29:"))
    # Drawn once, and then as before.
    with page.expect_response(lambda answer: "/status" in answer.url and answer.status == 304):
        pass


def test_the_minutes_left_are_said_once_at_five(page: Page, open_page: Callable[..., Page]) -> None:
    page.clock.install()
    open_page(make_page_checkout())
    page.clock.fast_forward("24:00")
    page.clock.run_for(65_000)
    expect(page.locator("#announcer")).to_have_text("5 minutes left to pay")


def test_a_page_is_not_drawn_anew_while_nothing_changes(open_page: Callable[..., Page]) -> None:
    page = open_page(make_seen())
    page.evaluate("document.getElementById('panel').dataset.mark = 'mine'")
    with page.expect_response(re.compile("/status")) as answer:
        pass
    assert answer.value.status == 304
    assert page.locator("#panel[data-mark=mine]").count() == 1


def test_no_question_about_the_status_is_broken_off(page: Page, open_page: Callable[..., Page]) -> None:
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    open_page(make_seen())
    for _ in range(2):
        with page.expect_response(re.compile("/status$")) as answer:
            pass
        assert answer.value.status == 304
    assert failed == []
