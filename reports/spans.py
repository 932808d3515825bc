"""Splits a time range into whole days, which have totals, and the rest at both ends."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_FIRST = datetime.min.replace(tzinfo=UTC)
# No block is as recent as the greatest date.
_LAST = datetime.max.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """The whole days `first <= day < end` (UTC), and the remaining times `since <= time < until`."""

    first: date
    end: date
    rest: tuple[tuple[datetime, datetime], ...]

    @property
    def has_days(self) -> bool:
        """Whether there is any whole day."""
        return self.first < self.end


def span_of(since: datetime | None, until: datetime | None) -> Span:
    """Split a range: `since` is included, `until` is not; None for no bound."""
    bottom, top = (since or _FIRST).astimezone(UTC), (until or _LAST).astimezone(UTC)
    first, end = _day_from(bottom), top.date()
    if first > end:
        return Span(end, end, ((bottom, top),))
    ends = ((bottom, midnight(first)), (midnight(end), top))
    return Span(first, end, tuple(part for part in ends if part[0] < part[1]))


def midnight(day: date) -> datetime:
    """Return a day's first moment, in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _day_from(moment: datetime) -> date:
    """Return the first day that begins at or after a moment; the greatest date has none after it."""
    day = moment.date()
    if moment == midnight(day) or day == date.max:
        return day
    return day + timedelta(days=1)
