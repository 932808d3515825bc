"""Buyers' pages on a network that is lost: what is said, what stays, and what is asked for again."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from checkouts.models import Checkout
from tests.browser.conftest import StubWallet
from tests.browser.test_screenshots import faults
from tests.checkouts.factories import ADDRESS, make_completed, make_page_checkout

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

NO_CONNECTION = (
    "No connection. If you have paid, your payment still counts, so don't pay again."
    " This page updates when the connection is back."
)
# A choice that gets no answer is given up at once, not after its fifteen seconds.
HASTE = """(() => {
  const timeout = AbortSignal.timeout;
  AbortSignal.timeout = (wait) => timeout.call(AbortSignal, wait === 15000 && window.hasty ? 50 : wait);
})()"""


@pytest.fixture
def open_page(page: Page, live_server: Any) -> Callable[..., Page]:
    """Open a checkout's page, and wait for the words that it keeps for later."""

    def open_one(checkout: Checkout, query: str = "") -> Page:
        page.goto(f"{live_server.url}/c/{checkout.code}{query}")
        page.locator("#offline").wait_for(state="attached")
        return page

    return open_one


def test_a_page_without_a_connection_says_so_and_that_a_payment_counts(
    open_page: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_page(make_page_checkout())
    notice = page.locator("#offline")
    expect(notice).to_be_hidden()
    page.context.set_offline(True)
    expect(notice).to_be_visible()
    expect(notice).to_have_text(re.compile(rf"^\s*{re.escape(NO_CONNECTION)}\s*$"))
    expect(page.locator("#announcer")).to_have_text(NO_CONNECTION)
    # It can still be paid: the money goes past this page.
    expect(page.locator("#address")).to_have_text(ADDRESS)
    # It is there wherever on the page the buyer is.
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(notice).to_be_in_viewport()
    page.context.set_offline(False)
    expect(notice).to_be_hidden()
    complaints.clear()


def test_a_network_without_a_way_out_is_no_connection_once_two_answers_are_missed(
    open_page: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_page(make_page_checkout())
    missed: list[Route] = []

    def lose(route: Route) -> None:
        missed.append(route)
        route.abort()

    page.route("**/status*", lose)
    expect(page.locator("#offline")).to_be_visible()
    assert len(missed) == 2
    page.unroute("**/status*")
    expect(page.locator("#offline")).to_be_hidden()
    complaints.clear()


def test_one_missed_answer_worries_nobody(open_page: Callable[..., Page], complaints: list[str]) -> None:
    page = open_page(make_page_checkout())
    page.route("**/status*", lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed"):
        pass
    with page.expect_response(re.compile("/status")):
        expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator("#announcer")).to_be_empty()
    complaints.clear()


def test_a_form_without_a_connection_keeps_the_page_and_what_was_typed(
    open_page: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_page(make_page_checkout())
    page.context.set_offline(True)
    page.get_by_text("Paid but not showing up?").click()
    page.get_by_label("Transaction hash or explorer link").fill("0x" + "ab" * 32)
    page.get_by_role("button", name="Find payment").click()
    expect(page.get_by_label("Transaction hash or explorer link")).to_have_value("0x" + "ab" * 32)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("button", name="Find payment").click()
    expect(page).to_have_url(re.compile("found="))
    complaints.clear()


def test_who_has_paid_is_not_told_that_the_connection_is_gone(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    # As after the way to the shop: the page stays.
    page.add_init_script("localStorage.setItem(`florin:returned:${location.pathname}`, '1')")
    open_page(make_completed())
    page.context.set_offline(True)
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))")
    expect(page.locator("#offline")).to_be_hidden()
    complaints.clear()


def test_it_is_said_in_the_pages_language(open_page: Callable[..., Page], complaints: list[str]) -> None:
    page = open_page(make_page_checkout(), "?lang=uk")
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_contain_text("Немає зʼєднання.")
    page.context.set_offline(False)
    complaints.clear()


def test_what_it_says_is_whole_on_every_screen(still_page: Page, live_server: Any, complaints: list[str]) -> None:
    still_page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    notice = still_page.locator("#offline")
    notice.wait_for(state="attached")
    # Loaded with the words: without a connection it could not be.
    still_page.wait_for_function("() => [...document.styleSheets].some(({ href }) => href?.includes('offline'))")
    still_page.context.set_offline(True)
    expect(notice).to_be_visible()
    assert faults(still_page, "offline") == []
    still_page.context.set_offline(False)
    complaints.clear()


@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "unanswered"])
def test_a_choice_that_gets_no_answer_leaves_the_page_and_its_network(
    is_refused: bool, page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    page.add_init_script(HASTE)
    open_page(make_page_checkout())
    page.evaluate("window.hasty = true")
    held: list[Route] = []
    page.route("**/choose", lambda route: route.abort() if is_refused else held.append(route))
    page.get_by_role("radio", name="Polygon").click(force=True)
    expect(page.get_by_role("radio", name="Base")).to_be_checked()
    expect(page.locator(".sheet[inert]")).to_have_count(0)
    expect(page.locator("#address")).to_have_text(ADDRESS)
    page.unroute("**/choose")
    page.evaluate("window.hasty = false")
    page.get_by_role("radio", name="Polygon").check(force=True)
    expect(page.get_by_text("Send only USDC on Polygon.")).to_be_visible()
    complaints.clear()


def test_the_words_of_a_wallets_button_are_asked_for_again(page: Page, live_server: Any, complaints: list[str]) -> None:
    StubWallet(ADDRESS, 8453, lambda method, params: None).install(page)
    page.route("**/wallets*", lambda route: route.abort(), times=1)
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    expect(page.get_by_role("button", name="Pay with Test Wallet")).to_be_visible()
    complaints.clear()


def test_a_script_that_was_lost_is_asked_for_again_once_the_connection_is_back(
    page: Page, open_page: Callable[..., Page], complaints: list[str]
) -> None:
    StubWallet(ADDRESS, 8453, lambda method, params: None).install(page)
    page.route("**/wallet.js", lambda route: route.abort(), times=1)
    open_page(make_page_checkout())
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("button", name="Pay with Test Wallet")).to_be_visible()
    complaints.clear()
