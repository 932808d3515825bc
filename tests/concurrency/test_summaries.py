"""A summary is of one moment: what arrives while it is added up is in none of its parts."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from reports import summaries
from reports.inputs import ReportFilter
from reports.selectors import transfers_wanted
from reports.summaries import Summary, summary_of
from tests.accounts.fee_entries import charged
from tests.concurrency.races import crew
from tests.factories import NOON, make_merchant
from tests.reports.takings import receive
from tests.wallets.days import make_movement, make_watched
from tests.wallets.watched_wallets import hold
from wallets.models import WatchedWallet

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

UNITS = 25_000_000
# After this there are fewer hours of the day than before it: they are taken off its totals.
UNTIL = NOON + timedelta(hours=6)
LATE = UNTIL + timedelta(hours=1)


@pytest.fixture
def wallet() -> WatchedWallet:
    """A merchant's watched wallet, to which something came, as to the merchant."""
    wallet = make_watched(make_merchant(), tags=["till"])
    receive(wallet.merchant, UNITS)
    make_movement(wallet, UNITS)
    hold(wallet, UNITS)
    return wallet


def summed(merchant: Merchant) -> Summary:
    """What a day's first 18 hours add up to."""
    since = NOON - timedelta(hours=12)
    wanted = ReportFilter(merchant.pk, Mode.LIVE, since=since, until=UNTIL)
    return summary_of(wanted, now=LATE)


def let_arrive(monkeypatch: pytest.MonkeyPatch, *arrivals: Callable[[], Any]) -> None:
    """Have these happen on another connection after a summary read the days' totals of transfers."""

    def select(wanted: ReportFilter) -> Any:
        with crew() as threads:
            for arrive in arrivals:
                threads.start(arrive).result()
        return transfers_wanted(wanted)

    monkeypatch.setattr(summaries, "transfers_wanted", select)


def test_what_arrives_meanwhile_is_in_no_part(monkeypatch: pytest.MonkeyPatch, wallet: WatchedWallet) -> None:
    before = summed(wallet.merchant)
    let_arrive(
        monkeypatch,
        partial(receive, wallet.merchant, UNITS, block_time=LATE),
        partial(make_movement, wallet, UNITS, block_time=NOON),
        partial(make_movement, wallet, UNITS, block_time=LATE),
        partial(charged, wallet.merchant, "100.000000", at=NOON),
        partial(hold, wallet, 2 * UNITS),
    )
    assert summed(wallet.merchant) == before
    assert (before.total.inflow, before.total.came) == (2 * UNITS, 2)


def test_without_the_snapshot_it_is_taken_off(monkeypatch: pytest.MonkeyPatch, wallet: WatchedWallet) -> None:
    monkeypatch.setattr(summaries, "snapshot", nullcontext)
    let_arrive(monkeypatch, partial(receive, wallet.merchant, UNITS, block_time=LATE))
    total = summed(wallet.merchant).total
    assert (total.inflow, total.came) == (UNITS, 1)
