"""What payments of a subscription cover."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from links.states import Interval
from links.subscriptions.periods import after, coverage
from links.subscriptions.service import REMIND_BEFORE


def at(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("begun", "interval", "count", "end"),
    [
        (at(2026, 11, 20), Interval.WEEK, 2, at(2026, 12, 4)),
        (at(2026, 11, 20), Interval.MONTH, 1, at(2026, 12, 20)),
        (at(2026, 11, 20), Interval.MONTH, 14, at(2028, 1, 20)),
        (at(2026, 1, 31), Interval.MONTH, 1, at(2026, 2, 28)),
        (at(2026, 1, 31), Interval.MONTH, 2, at(2026, 3, 31)),
        (at(2028, 2, 29), Interval.YEAR, 1, at(2029, 2, 28)),
        (at(2028, 2, 29), Interval.YEAR, 4, at(2032, 2, 29)),
    ],
)
def test_intervals_end_where_a_calendar_says(begun: datetime, interval: Interval, count: int, end: datetime) -> None:
    assert after(begun, interval, count) == end


def test_nobody_who_did_not_pay_is_covered() -> None:
    assert coverage([], Interval.MONTH) is None


def test_paying_early_adds_to_what_is_left() -> None:
    covered = coverage([at(2026, 1, 31), at(2026, 2, 10)], Interval.MONTH)
    assert covered
    assert covered.until == at(2026, 3, 31)
    assert covered.next_until == at(2026, 4, 30)


@pytest.mark.parametrize("interval", Interval)
def test_the_next_period_can_be_paid_when_a_reminder_comes(interval: Interval) -> None:
    covered = coverage([at(2026, 1, 31)], interval)
    assert covered
    assert covered.begun < covered.renewable_at <= covered.until - REMIND_BEFORE


def test_paying_after_a_gap_begins_afresh() -> None:
    covered = coverage([at(2026, 1, 31), at(2026, 5, 2)], Interval.MONTH)
    assert covered
    assert (covered.begun, covered.until) == (at(2026, 5, 2), at(2026, 6, 2))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=30).map(sorted), st.sampled_from(Interval))
def test_no_payment_is_ever_lost(days: list[int], interval: Interval) -> None:
    moments = [at(2026, 1, 31) + timedelta(days=day) for day in days]
    covered = coverage(moments, interval)
    assert covered
    assert 1 <= covered.count <= len(moments)
    assert covered.until > moments[-1]
    assert covered.next_until > covered.until
