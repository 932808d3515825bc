"""The overview in a browser: of a merchant that begins, and of one that sells."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, expect

from accounts.states import Mode
from checkouts.models import DailyTotal
from tests.browser.dashboard import log_in_browser, look
from tests.checkouts.factories import make_completed, make_seen, make_underpaid
from tests.dashboard.people import Desk, make_desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

SHARES = {"base": 44, "tron": 22, "polygon": 16, "solana": 10, "ton": 5, "ethereum": 3}


def sell(desk: Desk, days: int = 60) -> None:
    """Sums of so many days, of more checkouts than a test could make."""
    today = timezone.now().date()
    for ago in range(days):
        key: dict[str, Any] = {"merchant": desk.merchant, "mode": Mode.LIVE, "day": today - timedelta(days=ago)}
        busy = 40 + ago * 7 % 23 - ago // 4
        DailyTotal.objects.create(**key, created=busy, expired=busy // 4)
        for chain, share in SHARES.items():
            paid = Decimal(busy * share) / 2
            DailyTotal.objects.create(**key, chain=chain, token="USDC", completed=busy // 8, volume=paid)


def test_the_overview_of_a_shop_that_sells(open_context: Any, live_server: Any) -> None:
    desk = make_desk()
    sell(desk)
    make_completed(merchant=desk.merchant, order_ref="HR-20481")
    make_underpaid(merchant=desk.merchant, order_ref="HR-20480")
    make_seen(merchant=desk.merchant, order_ref="HR-20479")
    context = open_context(reduced_motion="reduce", device_scale_factor=2)
    log_in_browser(context, live_server.url, desk.user)
    page = context.new_page()
    page.goto(live_server.url + desk.url("dashboard_overview"))
    expect(page.get_by_role("link", name="HR-20481")).to_be_visible()
    assert look(page, "dashboard-overview") == []
    page.get_by_role("link", name="7 days").click()
    page.get_by_text("Show as a table").click()
    # Seven days and the row of their headings.
    expect(page.get_by_role("region", name="Figures by day").get_by_role("row")).to_have_count(8)


def test_the_overview_of_a_merchant_that_begins(open_context: Any, live_server: Any) -> None:
    desk = make_desk(mode=Mode.TEST)
    context: BrowserContext = open_context(device_scale_factor=2)
    log_in_browser(context, live_server.url, desk.user)
    page = context.new_page()
    page.goto(live_server.url + desk.url("dashboard_overview"))
    assert look(page, "dashboard-overview-first") == []
    page.get_by_role("link", name="Complete a test checkout").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("New checkout")
