"""Daily totals for reports: the whole days of a range, how many rows a list has, and on which day a deep page starts."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.db.models import QuerySet, Sum

from gateway.core.times import midnight
from reports.inputs import ReportFilter
from reports.selectors import movements_wanted, transfers_wanted, watched_wallets
from wallets.models import TransferDay, WatchedDay
from wallets.states import Direction

_DAY: Final = timedelta(days=1)
_FIRST = datetime.min.replace(tzinfo=UTC)
# No block is as recent as the greatest date.
_LAST = datetime.max.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)

# Up to here, skipping row by row is as fast.
_FEW: Final = 5_000


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
    """Split a range into whole days, read from totals, and its two ends.

    An end is read from rows; or the rest of its day is subtracted from the day's total, if that has fewer rows.

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


def _next(day: date) -> date:
    return day + _DAY


def _day_from(moment: datetime) -> date:
    """Return the first day that begins at or after a moment; the greatest date has none after it."""
    day = moment.date()
    if moment == midnight(day) or day == date.max:
        return day
    return day + timedelta(days=1)


class ReportTotals:
    """How many rows a filter has, in all and day by day. Days and parts of days that one question read are kept for the next."""

    def __init__(self, wanted: ReportFilter) -> None:
        self.wanted = wanted
        self._span = span_of(wanted.since, wanted.until)
        self._by_day: Counter[date] | None = None
        self._parts: dict[tuple[datetime, datetime], int] = {}

    def count(self) -> int:
        """Count the rows. Daily totals do not know addresses, which a wallet filter needs."""
        if self.wanted.wallet:
            return _counted(self.wanted)
        return sum(map(self._in_part, self._span.rest)) + self._in_days()

    def pass_over_days(self, offset: int) -> tuple[ReportFilter, int]:
        """Skip the newest whole days that an offset covers; return the rest of the filter and the offset."""
        wanted, span = self.wanted, self._span
        if offset < _FEW or wanted.wallet or not span.has_days:
            return wanted, offset
        end = midnight(span.end)
        passed = sum(self._in_part(part) for part in span.rest if part[0] >= end)
        if passed > offset:
            return wanted, offset
        self._by_day = _by_day(wanted, span)
        for day, rows in sorted(self._by_day.items(), reverse=True):
            if passed + rows > offset:
                break
            passed, end = passed + rows, midnight(day)
        return replace(wanted, until=end), offset - passed

    def _in_part(self, part: tuple[datetime, datetime]) -> int:
        if part not in self._parts:
            since, until = part
            rows = replace(self.wanted, since=since, until=until)
            self._parts[part] = _counted(rows)
        return self._parts[part]

    def _in_days(self) -> int:
        wanted, span = self.wanted, self._span
        if self._by_day is not None:
            return self._by_day.total()
        if not span.has_days:
            return 0
        return _kept(_transfer_days(wanted, span)) + _kept(_watched_days(wanted, span))


def _by_day(wanted: ReportFilter, span: Span) -> Counter[date]:
    received, moved = (
        days.values_list("day").annotate(rows=Sum("count")).order_by()
        for days in (_transfer_days(wanted, span), _watched_days(wanted, span))
    )
    found: Counter[date] = Counter()
    for day, rows in received.union(moved, all=True):
        found[day] += int(rows)
    return found


def _counted(wanted: ReportFilter) -> int:
    return transfers_wanted(wanted).count() + movements_wanted(wanted).count()


def _transfer_days(wanted: ReportFilter, span: Span) -> QuerySet[TransferDay]:
    # As with the transfers themselves: none is outgoing, and none has a tag.
    if wanted.direction == Direction.OUT or wanted.tag:
        return TransferDay.objects.none()
    found = TransferDay.objects.filter(
        merchant=wanted.merchant_id, mode=wanted.mode, day__gte=span.first, day__lt=span.end
    )
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    return found.filter(token=wanted.token) if wanted.token else found


def _watched_days(wanted: ReportFilter, span: Span) -> QuerySet[WatchedDay]:
    found = WatchedDay.objects.filter(wallet__in=watched_wallets(wanted), day__gte=span.first, day__lt=span.end)
    if wanted.direction:
        found = found.filter(direction=wanted.direction)
    if wanted.token:
        found = found.filter(token=wanted.token)
    return found if wanted.tag else found.filter(is_payment=False)


def _kept(days: QuerySet[TransferDay] | QuerySet[WatchedDay]) -> int:
    return int(days.aggregate(rows=Sum("count"))["rows"] or 0)
