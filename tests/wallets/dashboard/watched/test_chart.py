"""The chart of what a watched wallet held."""

from datetime import UTC, timedelta

import pytest
from django.utils import timezone

from tests.dashboard.people import Desk
from tests.wallets.dashboard.watched.test_wallet_list import opened
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import hold, watch
from wallets.states import Direction, TransferState

pytestmark = pytest.mark.django_db


def test_the_chart_ends_with_what_is_held_and_goes_back_by_what_moved(owner_by_factor: Desk) -> None:
    now, day = timezone.now(), timedelta(days=1)
    wallet = watch(owner_by_factor.merchant, chain="polygon", now=now - 3 * day)
    make_movement(wallet, 4_000_000, block_time=now)
    out = {"direction": Direction.OUT, "block_time": now - 2 * day}
    make_movement(wallet, 1_000_000, **out)
    make_movement(wallet, 9_000_000, state=TransferState.ORPHANED, block_time=now)
    hold(wallet, 10_000_000, read_at=now)
    hold(wallet, 0, token="USDT", read_at=now)
    chart = opened(owner_by_factor, wallet).context["chart"]
    assert [line.token for line in chart.lines] == ["USDC", "USDT"]
    held = [[int(amount) for _, amount in day.held] for day in chart.days]
    assert held == [[7, 0], [6, 0], [6, 0], [10, 0]]
    assert chart.until == now.astimezone(UTC).date()
    # A step for each day, as high as what is held of the most that ever was, under an edge of 40.
    assert chart.lines[0].path == "M0 328V328h10V424h10V424h10V40h10"
    assert chart.lines[1].area == "M0 1000V1000h10V1000h10V1000h10V1000h10V1000z"


def test_a_wallet_that_nobody_read_has_no_chart(owner_by_factor: Desk) -> None:
    page = opened(owner_by_factor, watch(owner_by_factor.merchant))
    assert page.context["chart"] is None
    assert page.context["row"].balances == (("USDC", ""),)
