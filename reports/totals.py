"""The number of rows of a report's list, and the start of a deep page: from daily totals."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from django.db.models import QuerySet, Sum

from reports.inputs import ReportFilter
from reports.selectors import movements_wanted, transfers_wanted, watched_wallets
from reports.spans import Span, midnight, span_of
from wallets.models import TransferDay, WatchedDay
from wallets.states import Direction

# Up to here, skipping row by row is as fast.
_FEW: Final = 5_000


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
        return _kept(_transfer_days(wanted, span)) + _kept(_days(wanted, span))


def _by_day(wanted: ReportFilter, span: Span) -> Counter[date]:
    received, moved = (
        days.values_list("day").annotate(rows=Sum("count")).order_by()
        for days in (_transfer_days(wanted, span), _days(wanted, span))
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


def _days(wanted: ReportFilter, span: Span) -> QuerySet[WatchedDay]:
    found = WatchedDay.objects.filter(wallet__in=watched_wallets(wanted), day__gte=span.first, day__lt=span.end)
    if wanted.direction:
        found = found.filter(direction=wanted.direction)
    if wanted.token:
        found = found.filter(token=wanted.token)
    return found if wanted.tag else found.filter(is_payment=False)


def _kept(days: QuerySet[TransferDay] | QuerySet[WatchedDay]) -> int:
    return int(days.aggregate(rows=Sum("count"))["rows"] or 0)
