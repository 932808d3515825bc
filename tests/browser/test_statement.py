"""Fees and a month's statement in a browser: the way there, what they look like, and what is left of them on paper."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.states import FeeKind, FeeTier
from tests.accounts.fee_entries import charged
from tests.browser.dashboard import look
from tests.browser.paper import printed
from tests.browser.test_screenshots import take
from tests.dashboard.people import make_desk
from tests.reports.takings import earn, lose
from tests.wallets.days import make_movement, make_watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_month_is_found_read_and_printed(open_desk: Callable[..., Page]) -> None:
    desk, now = make_desk(), timezone.now()
    merchant = desk.merchant
    merchant.created_at = now - timedelta(days=120)
    merchant.save(update_fields=["created_at"])
    for token, chain in (("USDC", "base"), ("USDT", "polygon"), ("USDT", "tron")):
        charged(merchant, "12480.250000", at=now, token=token, chain=chain)
        charged(merchant, "340.10", at=now, chain=chain, kind=FeeKind.X402)
    earlier = now - timedelta(days=32)
    charged(merchant, at=earlier, voided_at=now)
    charged(merchant, "410.00", at=earlier, voided_at=earlier, again_at=now)
    merchant.fee_tier, merchant.fee_rate = FeeTier.CUSTOM, Decimal("0.0045")
    merchant.save()
    charged(merchant, "48.70", at=now)
    page = open_desk(desk, "dashboard_fees")
    assert look(page, "dashboard-fees") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("link", name=f"{now:%B %Y}").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("so far")
    expect(page.get_by_role("row", name="Reversed")).to_contain_text("−0.375")
    assert look(page, "dashboard-statement") == []
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).to_have_count(0)
    expect(page.get_by_role("link", name="CSV")).to_be_hidden()
    expect(page.get_by_role("row", name="Sum so far")).to_be_visible()
    take(page, "dashboard-statement-print")


def test_the_accountants_month_is_two_presses_away_and_is_printed(open_desk: Callable[..., Page]) -> None:
    desk, now = make_desk(), timezone.now()
    merchant = desk.merchant
    merchant.created_at = now - timedelta(days=90)
    merchant.save(update_fields=["created_at"])
    earn(merchant, 48_700_000, order_ref="HR-20481", block_time=now)
    lose(merchant, 19_000_000, block_time=now, orphaned_at=now)
    earn(merchant, 1_250_500_000, chain="polygon", token="USDT", block_time=now - timedelta(days=40))
    make_movement(make_watched(merchant), 5_000_000, direction="out", block_time=now)
    page = open_desk(desk, "dashboard_months")
    assert look(page, "dashboard-months") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    with page.expect_download() as download:
        page.get_by_role("link", name=f"CSV of {now:%B %Y}").click()
    assert download.value.suggested_filename == f"florin-accountant-live-{now:%Y-%m}.csv"
    page.get_by_role("link", name=f"{now:%B %Y}", exact=True).click()
    expect(page.get_by_role("row", name="HR-20481")).to_contain_text("48.70")
    assert look(page, "dashboard-month") == []
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print")
    expect(page.get_by_role("link", name="Xero")).to_be_hidden()
    expect(page.get_by_role("row", name="USDC on Base").first).to_be_visible()
    take(page, "dashboard-month-print")


def test_a_months_statement_as_a_pdf_has_each_line_once_and_its_heads_on_each_sheet(
    open_desk: Callable[..., Page],
) -> None:
    desk, now = make_desk(), timezone.now()
    merchant = desk.merchant
    merchant.created_at = now - timedelta(days=90)
    merchant.save(update_fields=["created_at"])
    orders = [f"HR-{number:05}" for number in range(60)]
    for number, order in enumerate(orders):
        earn(merchant, 1_000_000 + number * 10_000, order_ref=order, block_time=now)
    page = open_desk(desk, "dashboard_month", {"month": f"{now:%Y-%m}"})
    expect(page.get_by_role("row", name=orders[-1])).to_be_visible()
    sheets = printed(page)
    assert {sheet.size for sheet in sheets} == {(210, 297)}
    assert len(sheets) > 1
    text = " ".join(sheet.text for sheet in sheets)
    assert merchant.name in text
    for order in orders:
        assert text.count(order) == 1, order
    # 60 payments of 1.00 to 1.59.
    assert "77.70" in text
    for sheet in sheets[1:]:
        assert "HR-" in sheet.text
        assert "Network and token" in sheet.text
    for word in ("All months", "Xero", "Overview"):
        assert word not in text
