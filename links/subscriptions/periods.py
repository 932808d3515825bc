"""Periods of subscriptions. Pure."""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from links.states import Interval

MONTHS = {Interval.MONTH: 1, Interval.YEAR: 12}
# How long before a paid period's end the next one can be paid. Not shorter than the reminder's lead.
RENEWABLE_BEFORE = {
    Interval.WEEK: timedelta(days=3),
    Interval.MONTH: timedelta(days=7),
    Interval.YEAR: timedelta(days=30),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """The cover of consecutive payments: `count` intervals from `begun` on, without a gap."""

    interval: Interval
    begun: datetime
    count: int

    @property
    def until(self) -> datetime:
        """Return the end of the last paid interval."""
        return after(self.begun, self.interval, self.count)

    @property
    def next_until(self) -> datetime:
        """Return the end after one more payment."""
        return after(self.begun, self.interval, self.count + 1)

    @property
    def renewable_at(self) -> datetime:
        """Return when the next interval can be paid."""
        return self.until - RENEWABLE_BEFORE[self.interval]

    def paid(self, moment: datetime) -> "Coverage":
        """Return the cover after a payment: one interval more, or a new start after a gap."""
        if moment > self.until:
            return Coverage(self.interval, moment, 1)
        return Coverage(self.interval, self.begun, self.count + 1)


def coverage(moments: Iterable[datetime], interval: Interval) -> Coverage | None:
    """Return the cover of the latest payments without a gap; None without any. `moments` are in order."""
    covered: Coverage | None = None
    for moment in moments:
        covered = covered.paid(moment) if covered else Coverage(interval, moment, 1)
    return covered


def after(begun: datetime, interval: Interval, count: int) -> datetime:
    """Return the end of `count` intervals, counted from the start so that a 31st comes back after a short month."""
    if interval == Interval.WEEK:
        return begun + timedelta(weeks=count)
    months = begun.month - 1 + count * MONTHS[interval]
    year, month = begun.year + months // 12, months % 12 + 1
    day = min(begun.day, monthrange(year, month)[1])
    return begun.replace(year=year, month=month, day=day)
