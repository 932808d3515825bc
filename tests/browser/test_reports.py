"""Reports and payments in a browser: the ways between them, and what they look like."""

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.dashboard import look
from tests.checkouts.inboxes import extra_item
from tests.dashboard.people import make_desk
from tests.reports.takings import copy, earn, lose, receive, see

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_money_is_found_and_added_up(open_desk: Callable[..., Page]) -> None:
    desk = make_desk()
    today = {"block_time": timezone.now()}
    earn(desk.merchant, 48_700_000, order_ref="HR-20481", **today)
    receive(desk.merchant, 1_250_500_000, chain="polygon", token="USDT", **today)
    lose(desk.merchant, 5_000_000, **today)
    extra_item(merchant=desk.merchant)
    see(desk.merchant, 19_990_000, **today)
    copy(receive(desk.merchant), 20)
    page = open_desk(desk, "dashboard_reports")
    expect(page.get_by_role("table").first).to_contain_text("1,250.50")
    assert look(page, "dashboard-reports") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    sidebar = page.get_by_role("navigation", name="Main")
    sidebar.get_by_role("link", name="Payments").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
    assert look(page, "dashboard-payments") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("State").select_option("Credited")
    page.get_by_role("button", name="Filter").click()
    # The one above, and the checkout that was paid twice.
    expect(page.get_by_role("row")).to_have_count(1 + 2)
    page.get_by_role("link", name="HR-20481").click()
    expect(page).to_have_url(re.compile(r"/checkouts/chk_live_"))


def test_empty_pages_are_whole(open_desk: Callable[..., Page]) -> None:
    desk = make_desk()
    for name in ("reports", "payments"):
        page = open_desk(desk, f"dashboard_{name}")
        assert look(page, f"dashboard-{name}-empty") == []
