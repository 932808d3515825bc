"""Splits a time range into whole days, which have totals, and parts of days at both ends."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_FIRST = datetime.min.replace(tzinfo=UTC)
# No block is as recent as the greatest date.
_LAST = datetime.max.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """The times `since <= time < until` of one day, to count; or, if it `is_left_out`, to take off that day's totals."""

    since: datetime
    until: datetime
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Cover:
    """The whole days `first <= day < end` (UTC), with parts of some days that make it a time range."""

    first: date
    end: date
    parts: tuple[Part, ...]


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


def cover_of(since: datetime, until: datetime, *, now: datetime) -> Cover:
    """Cover a range so that few rows have to be read: those in it of the first and the last day, or the others of that day.

    Totals and rows must be read at one moment, or what is taken off may not be in the totals yet.
    """
    span = span_of(since, until)
    first, end, parts = span.first, span.end, []
    for start, stop in span.rest:
        day = start.date()
        if day == date.max:
            parts.append(Part(start, stop))
            continue
        after = midnight(_next(day))
        # After now there are no rows.
        others = start - midnight(day) + max(min(after, now) - stop, timedelta(0))
        if others > stop - start:
            parts.append(Part(start, stop))
            continue
        first, end = min(first, day), max(end, _next(day))
        around = ((midnight(day), start), (stop, after))
        parts += [Part(*times, is_left_out=True) for times in around if times[0] < times[1]]
    return Cover(first, end, tuple(parts))


def midnight(day: date) -> datetime:
    """Return a day's first moment, in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _day_from(moment: datetime) -> date:
    """Return the first day that begins at or after a moment; the greatest date has none after it."""
    day = moment.date()
    if moment == midnight(day) or day == date.max:
        return day
    return day + timedelta(days=1)
