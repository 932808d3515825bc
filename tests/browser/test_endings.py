"""How a visit ends in a real browser: with a receipt, with news one should read, or with a second try."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from accounts.models import Merchant
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from tests.browser.test_checkout_page import SHIFTS, STILL
from tests.checkouts.factories import make_completed, make_expired, make_page_checkout, make_seen, move, number_of
from tests.factories import make_merchant, make_wallet
from tests.links.factories import make_paid_invoice

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

SHOP = re.compile(r"^https://shop\.example/")


def thank(route: Route) -> None:
    """Answer as the shop."""
    route.fulfill(content_type="text/html", body="<h1>Thanks</h1>")


@pytest.fixture
def shop() -> Merchant:
    """A merchant with a wallet on Base, whose buyers may start again."""
    merchant = make_merchant(buyers_may_retry=True)
    make_wallet(merchant)
    return merchant


def heading(page: Page, words: str) -> None:
    """Wait for the page's heading."""
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


def test_a_buyer_who_came_too_late_starts_again_by_keyboard(page: Page, live_server: Any, shop: Merchant) -> None:
    old = make_expired(merchant=shop)
    page.goto(f"{live_server.url}/c/{old.code}")
    page.get_by_role("button", name="Start again").focus()
    page.keyboard.press("Enter")
    heading(page, "Choose how to pay")
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^\s*(30:00|29:5\d)"))
    fresh = Checkout.objects.exclude(pk=old.pk).get()
    assert page.url == f"{live_server.url}/c/{fresh.code}"
    expect(page.locator("#address")).to_have_text(fresh.offers["base"]["address"])
    page.go_back()
    page.get_by_role("button", name="Start again").click()
    page.wait_for_url(f"**/c/{fresh.code}")


def test_starting_again_needs_no_script(
    live_server: Any, open_context: Callable[..., BrowserContext], shop: Merchant
) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/c/{make_expired(merchant=shop).code}")
    page.get_by_role("button", name="Start again").click()
    heading(page, "Choose how to pay")


def test_the_receipt_is_opened_beside_the_shop(page: Page, live_server: Any) -> None:
    page.context.route(SHOP, thank)
    page.clock.install(time=0)
    page.clock.pause_at(1)
    checkout = make_completed()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="View receipt").click()
    receipt = opened.value
    heading(receipt, "Receipt")
    expect(receipt.get_by_text(number_of(checkout))).to_be_visible()
    assert receipt.evaluate("window.opener") is None
    page.clock.run_for(2000)
    page.wait_for_url(SHOP)
    heading(receipt, "Receipt")


def test_a_printed_receipt_is_black_on_white_and_without_advice_for_the_screen(
    live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context(color_scheme="dark").new_page()
    page.add_init_script("window.print = () => (window.isPrinted = true)")
    page.goto(f"{live_server.url}/c/{make_completed().code}/receipt")
    page.get_by_role("button", name="Print receipt").click()
    assert page.evaluate("window.isPrinted")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print receipt")).to_be_hidden()
    colours = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('h1')).color]"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


def test_a_receipt_without_scripts_says_how_to_print_and_the_time_in_utc(
    live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context(java_script_enabled=False, timezone_id="Asia/Kolkata").new_page()
    page.goto(f"{live_server.url}/c/{make_completed().code}/receipt")
    expect(page.get_by_text("browser's print command")).to_be_visible()
    expect(page.get_by_role("button", name="Print receipt")).to_be_hidden()
    expect(page.locator("time")).to_contain_text("UTC")


@pytest.mark.parametrize("rest", ["", "/receipt"])
def test_times_are_the_buyer_s_own_with_utc_on_hover_and_nothing_moves(
    rest: str, live_server: Any, open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context(timezone_id="Asia/Kolkata").new_page()
    paid_at = datetime(2026, 11, 20, 20, 30, tzinfo=UTC)
    checkout = move(make_completed(redirect_url=""), CheckoutStatus.COMPLETED, paid_at=paid_at)
    page.goto(f"{live_server.url}/c/{checkout.code}{rest}")
    time = page.locator("time")
    expect(time).to_have_text("21 November 2026 at 02:00 GMT+5:30")
    expect(time).to_have_attribute("title", "20 November 2026, 20:30 UTC")
    assert page.evaluate(SHIFTS) < STILL


def test_what_to_pay_with_and_by_when_goes_once_there_is_nothing_to_pay(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout(redirect_url="")
    page.goto(f"{live_server.url}/c/{checkout.code}")
    expect(page.get_by_text("Pay by")).to_be_visible()
    move(checkout, CheckoutStatus.COMPLETED)
    heading(page, "Payment complete")
    expect(page.get_by_text("Pay by")).to_be_hidden()
    expect(page.get_by_text("$49.00")).to_be_visible()


def test_a_page_that_shows_a_paid_checkout_taken_back_stays(page: Page, live_server: Any) -> None:
    page.clock.install()
    checkout = make_seen()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    heading(page, "The network reversed this payment")
    expect(page.locator("#announcer")).to_contain_text("reversed this payment")
    page.clock.run_for(10_000)
    assert page.url.endswith(f"/c/{checkout.code}")
    expect(page.get_by_role("link", name="Return to Halden Roasters")).to_be_visible()


@pytest.mark.parametrize("name", ["page", "receipt", "invoice"])
def test_an_open_page_about_a_payment_learns_of_a_reversal_and_of_the_return(
    name: str, page: Page, live_server: Any
) -> None:
    page.clock.install()
    link = make_paid_invoice() if name == "invoice" else None
    checkout = Checkout.objects.get() if link else make_completed(redirect_url="")
    paths = {
        "page": f"/c/{checkout.code}",
        "receipt": f"/c/{checkout.code}/receipt",
        "invoice": f"/p/{link and link.code}",
    }
    page.goto(live_server.url + paths[name])
    good = {"page": "Payment complete", "receipt": "Print receipt", "invoice": "This invoice is paid"}[name]
    bad = "This receipt is withdrawn." if name == "receipt" else "The network reversed this payment"
    for exception, words in ((CheckoutException.REVERSED, bad), (CheckoutException.NONE, good)):
        move(checkout, CheckoutStatus.COMPLETED, exception=exception)
        page.clock.run_for(16_000)
        expect(page.get_by_text(words).last).to_be_visible()
    assert page.url == live_server.url + paths[name]
