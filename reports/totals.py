"""The number of rows of a report's list, and the start of a deep page: from daily totals."""

from collections import Counter
from dataclasses import replace
from datetime import date
from typing import Final

from django.db.models import QuerySet, Sum

from reports.inputs import ReportFilter
from reports.selectors import movements_wanted, transfers_wanted, watched_wallets
from reports.spans import Span, midnight, span_of
from wallets.models import TransferDay, WatchedDay
from wallets.states import Direction

# Up to here, skipping row by row is as fast.
_FEW: Final = 5_000


def report_total(wanted: ReportFilter) -> int:
    """Count the rows of a filter. Daily totals do not know addresses, which a wallet filter needs."""
    if wanted.wallet:
        return _counted(wanted)
    span = span_of(wanted.since, wanted.until)
    parts = [replace(wanted, since=since, until=until) for since, until in span.rest]
    total = sum(_counted(part) for part in parts)
    if not span.has_days:
        return total
    return total + _kept(_transfer_days(wanted, span)) + _kept(_days(wanted, span))


def pass_over_days(wanted: ReportFilter, offset: int) -> tuple[ReportFilter, int]:
    """Skip the newest whole days that an offset covers; return the rest of the filter and the offset."""
    span = span_of(wanted.since, wanted.until)
    if offset < _FEW or wanted.wallet or not span.has_days:
        return wanted, offset
    end = midnight(span.end)
    passed = sum(
        _counted(replace(wanted, since=since, until=until))
        for since, until in span.rest
        if since >= end
    )
    if passed > offset:
        return wanted, offset
    for day, rows in sorted(_by_day(wanted, span).items(), reverse=True):
        if passed + rows > offset:
            break
        passed, end = passed + rows, midnight(day)
    return replace(wanted, until=end), offset - passed


def _by_day(wanted: ReportFilter, span: Span) -> Counter[date]:
    found: Counter[date] = Counter()
    for days in (_transfer_days(wanted, span), _days(wanted, span)):
        rows = days.values("day").annotate(rows=Sum("count")).order_by()
        found.update({row["day"]: int(row["rows"]) for row in rows})
    return found


def _counted(wanted: ReportFilter) -> int:
    return transfers_wanted(wanted).count() + movements_wanted(wanted).count()


def _transfer_days(wanted: ReportFilter, span: Span) -> QuerySet[TransferDay]:
    # As with the transfers themselves: none is outgoing, and none has a tag.
    if wanted.direction == Direction.OUT or wanted.tag:
        return TransferDay.objects.none()
    found = TransferDay.objects.filter(
        merchant=wanted.merchant_id,
        mode=wanted.mode,
        day__gte=span.first,
        day__lt=span.end,
    )
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    return found.filter(token=wanted.token) if wanted.token else found


def _days(wanted: ReportFilter, span: Span) -> QuerySet[WatchedDay]:
    found = WatchedDay.objects.filter(
        wallet__in=watched_wallets(wanted), day__gte=span.first, day__lt=span.end
    )
    if wanted.direction:
        found = found.filter(direction=wanted.direction)
    if wanted.token:
        found = found.filter(token=wanted.token)
    return found if wanted.tag else found.filter(is_payment=False)


def _kept(days: QuerySet[TransferDay] | QuerySet[WatchedDay]) -> int:
    return int(days.aggregate(rows=Sum("count"))["rows"] or 0)
