"""Search in a browser: from any page by keyboard to money in the inbox, and from an expired checkout to what can be done."""

from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from accounts.states import Mode
from checkouts.models import InboxItem
from links.models import LinkCheckout
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.checkouts.inboxes import late_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.machines import make_settlement
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from tests.links.factories import make_link
from tests.reports.takings import earn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """1,250.0045 USDC that came too late for HR-20399, which has much else beside it."""
    item = late_item(merchant=owner.merchant, order_ref="HR-20399", amount=1250, late=1250 * DOLLAR + 4_500)
    transfer = earn(owner.merchant, order_ref="HR-20399")
    make_settlement(owner.merchant, deposit=transfer.deposit)
    link = make_link(owner.merchant, mode=Mode.LIVE)
    paid = make_checkout(owner.merchant, order_ref="HR-20399", creation_ref=None)
    LinkCheckout.objects.create(link=link, checkout=paid, slot="x", attempt=1)
    return item


def test_the_slash_key_searches_from_any_page(owner: Desk, item: InboxItem, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner, "dashboard_new_checkout")
    box = page.get_by_role("searchbox", name="Search")
    # Whoever types an address writes a slash.
    page.get_by_label("Description").press("/")
    expect(box).not_to_be_focused()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type(item.transfer.tx_hash)
    page.keyboard.press("Enter")
    # One hit opens itself.
    expect(page.get_by_role("button", name="Accept late payment…")).to_be_visible()


def test_the_arrow_keys_lead_through_the_results(owner: Desk, item: InboxItem, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner, "dashboard_search")
    box = page.get_by_role("searchbox", name="Search")
    box.fill("HR-20399")
    box.press("Enter")
    expect(page.get_by_role("region", name="Inbox", exact=True)).to_be_visible()
    box.focus()
    page.keyboard.press("ArrowDown")
    first = page.get_by_role("link", name="1,250.0045 USDC")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(first).not_to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(box).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Accept late payment…")).to_be_visible()


def test_the_slash_key_can_be_switched_off(owner: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner, "dashboard_team", viewport=PHONE)
    inside, heading = page.url, page.get_by_role("heading", level=1)
    box = page.get_by_role("searchbox", name="Search")
    expect(box).to_have_attribute("aria-keyshortcuts", "/")
    for is_on in (False, True):
        page.goto(urljoin(inside, "/account/security/"))
        switch = page.get_by_role("checkbox", name="/ opens search")
        switch.set_checked(is_on)
        page.reload()
        expect(switch).to_be_checked(checked=is_on)
        page.goto(inside)
        heading.click()
        page.keyboard.press("/")
        assert box.evaluate("(part) => part === document.activeElement") == is_on
        assert box.get_attribute("aria-keyshortcuts") == ("/" if is_on else None)


def test_results_are_accessible_and_fit_the_screen(
    owner: Desk, item: InboxItem, open_desk: Callable[..., Page]
) -> None:
    page = open_desk(owner, "dashboard_search", device_scale_factor=2)
    assert look(page, "search-first", narrowest=320) == []
    page.goto(f"{page.url}?q=HR-20399")
    for group in ("Inbox", "Checkouts", "Payments", "Payment links", "Settlements"):
        expect(page.get_by_role("region", name=group, exact=True)).to_be_visible()
    assert look(page, "search-found") == []
    page.goto(f"{page.url}-nothing")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    assert look(page, "search-nothing", narrowest=320) == []


def test_an_expired_checkout_with_money_leads_to_accepting_it(
    owner: Desk, item: InboxItem, open_desk: Callable[..., Page]
) -> None:
    assert item.checkout is not None
    arguments = {"checkout_id": item.checkout.public_id}
    page = open_desk(owner, "dashboard_checkout", arguments, device_scale_factor=2)
    expect(page.get_by_text("1,250.0045 USDC on Base waits in your inbox")).to_be_visible()
    assert look(page, "checkout-expired-with-money") == []
    page.get_by_role("button", name="Accept late payment…").click()
    expect(page.get_by_text("receives 1,250.0045 of 1,250.00 USD")).to_be_visible()
    page.get_by_role("button", name="Accept late payment").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
