"""Watched wallets in a browser: adding one, watching its past come in, and what the pages look like."""

import re
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.dashboard import look
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import finish, hold, import_through, watch
from wallets.models import WatchedWallet
from wallets.states import Direction, TransferState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TRON = "TN3W4H6rK2ce4vX9YnFQHwKENnHjoxb3m9"


def busy_wallet(desk: Desk) -> WatchedWallet:
    """A wallet on Polygon in which two tokens came and went for sixty days."""
    now, random = timezone.now(), Random(7)
    label, tags = "Supplier payouts", ["payouts", "eu"]
    wallet = watch(desk.merchant, chain="polygon", label=label, tags=tags, now=now - timedelta(60))
    for day in range(60):
        for token, most in (("USDC", 900), ("USDT", 400)):
            way = Direction.OUT if random.random() < 0.4 else Direction.IN
            at = {"block_time": now - timedelta(days=day), "detected_at": now}
            units = random.randrange(1, most) * 1_000_000
            make_movement(wallet, units, token=token, direction=way, **at)
    newest = {"block_time": now, "confirmed_at": None}
    make_movement(wallet, 1_250_500_000, state=TransferState.DETECTED, **newest)
    make_movement(wallet, 75_000_000, state=TransferState.ORPHANED, **newest)
    hold(wallet, 18_420_503_700, read_at=now)
    hold(wallet, 7_000_000_000, token="USDT", read_at=now)
    return wallet


def test_a_wallet_is_added_its_past_comes_in_and_it_is_given_up(
    open_desk: Callable[..., Page], complaints: list[str]
) -> None:
    desk = make_desk()
    page = open_desk(desk, "dashboard_watched_wallets")
    assert look(page, "dashboard-watched-empty") == []
    page.get_by_role("link", name="Watch a wallet").click()
    page.get_by_label("Network").select_option("Base")
    page.get_by_label("Address").fill(WALLET[:-1])
    page.get_by_role("button", name="Watch it").click()
    expect(page.get_by_text("must be 0x and 40 hexadecimal digits")).to_be_visible()
    assert look(page, "dashboard-watched-form") == []
    # The browser reports the status of a form that was refused.
    [complaint] = complaints
    assert "status of 422" in complaint
    complaints.clear()
    page.get_by_label("Address").fill(WALLET)
    page.get_by_label("Label").fill("Payroll")
    page.get_by_label("Tags").fill("eu, payroll")
    page.get_by_role("button", name="Watch it").click()
    wallet = follow_history(page)
    page.get_by_role("button", name="Stop watching").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop watching").click()
    expect(page.get_by_role("status")).to_contain_text("not watched any more")
    wallet.refresh_from_db()
    assert wallet.removed_at is not None


def follow_history(page: Page) -> WatchedWallet:
    """Let the history of the wallet on the page be read, and see it come in without a reload."""
    expect(page.get_by_role("heading", level=1)).to_have_text("Payroll")
    wallet = WatchedWallet.objects.get()
    bar = page.get_by_role("progressbar")
    expect(bar).to_have_attribute("value", "0")
    make_movement(wallet, 5_000_000)
    import_through(wallet, 41)
    expect(bar).to_have_attribute("value", "41")
    expect(page.get_by_text("1 movement found so far")).to_be_visible()
    assert look(page, "dashboard-watched-importing") == []
    hold(wallet, 5_000_000)
    finish(wallet)
    expect(page.get_by_role("cell", name="+5.00 USDC")).to_be_visible()
    expect(bar).to_have_count(0)
    return wallet


def test_what_a_wallet_held_and_moved_is_seen(open_desk: Callable[..., Page]) -> None:
    desk = make_desk()
    busy = busy_wallet(desk)
    tron = watch(desk.merchant, chain="tron", address=TRON, tags=["cold storage"])
    hold(tron, 250_000_000_000, token="USDT")
    reading = watch(desk.merchant, label="Treasury", tags=["eu"])
    import_through(reading, 62)
    page = open_desk(desk, "dashboard_watched_wallets")
    assert look(page, "dashboard-watched-wallets") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    finish(reading)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    page.get_by_label("Tag", exact=True).select_option("payouts")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("row")).to_have_count(1 + 1)
    page.get_by_role("link", name="Supplier payouts").click()
    page.get_by_role("link", name="90 days").click()
    expect(page).to_have_url(re.compile(rf"/{busy.public_id}/\?days=90"))
    assert look(page, "dashboard-watched-wallet") == []
    page.get_by_text("Show as a table").click()
    table = page.get_by_role("region", name="Balance by day")
    expect(table.get_by_role("row").nth(1)).to_contain_text("18,420.50")
    page.get_by_label("Direction").select_option("Out")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("cell", name=re.compile(r"^\+"))).to_have_count(0)
    page.get_by_role("link", name="Edit").click()
    assert look(page, "dashboard-watched-edit") == []
