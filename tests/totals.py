"""Kept totals of all apps, compared with their rows and made anew, as the nightly check and its repair do."""

from datetime import date

from gateway.core import daily_totals
from gateway.core.daily_totals import Days, SumDifference


def differences(*, since: date = date.min, until: date = date.max) -> list[SumDifference]:
    """Compare the days `since <= day < until` of all tables."""
    return daily_totals.compare(dict.fromkeys(daily_totals.nightly_days(until), Days(since, until)))


def rebuild(*, since: date = date.min, until: date = date.max) -> None:
    """Recompute the days `since <= day < until` of all tables."""
    daily_totals.rebuild(dict.fromkeys(daily_totals.nightly_days(until), Days(since, until)))
