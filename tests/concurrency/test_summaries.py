"""A summary is of one moment: what arrives while it is added up is in none of its parts."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from reports import summaries
from reports.inputs import ReportFilter
from reports.selectors import transfers_wanted
from reports.summaries import Sums, summary_of
from tests.concurrency.races import crew
from tests.factories import NOON, make_merchant
from tests.reports.takings import receive

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

UNITS = 25_000_000
# After this there are fewer hours of the day than before it: they are taken off its totals.
UNTIL = NOON + timedelta(hours=6)


def summed_while_a_transfer_arrives(
    monkeypatch: pytest.MonkeyPatch, merchant: Merchant
) -> Sums:
    """What a day's first 18 hours add up to, if a transfer of its evening comes after its totals were read."""

    def select(wanted: ReportFilter) -> Any:
        with crew() as threads:
            late = UNTIL + timedelta(hours=1)
            threads.start(lambda: receive(merchant, UNITS, block_time=late)).result()
        return transfers_wanted(wanted)

    monkeypatch.setattr(summaries, "transfers_wanted", select)
    wanted = ReportFilter(
        merchant.pk, Mode.LIVE, since=NOON - timedelta(hours=12), until=UNTIL
    )
    return summary_of(wanted, now=UNTIL + timedelta(hours=2)).total


def test_what_arrives_meanwhile_is_not_taken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merchant = make_merchant()
    receive(merchant, UNITS)
    total = summed_while_a_transfer_arrives(monkeypatch, merchant)
    assert (total.inflow, total.came, total.uncredited) == (UNITS, 1, 1)


def test_without_the_snapshot_it_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = make_merchant()
    receive(merchant, UNITS)
    monkeypatch.setattr(summaries, "snapshot", nullcontext)
    total = summed_while_a_transfer_arrives(monkeypatch, merchant)
    assert (total.inflow, total.came) == (0, 0)
