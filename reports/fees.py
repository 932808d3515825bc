"""A merchant's fees for some days."""

from datetime import datetime
from decimal import Decimal
from functools import reduce

from django.db.models import QuerySet, Sum

from accounts.models import FeeDay, FeeEntry
from accounts.states import Mode
from gateway.core.money import EXACT, round_to_cent
from reports.inputs import ReportFilter
from reports.spans import Span, span_of


def fees_of(wanted: ReportFilter) -> Decimal:
    """Return the fees, in USD to a cent, charged in a filter's time, less refunds in it.

    Test mode and watched wallets are free.
    """
    if wanted.mode != Mode.LIVE or wanted.tag:
        return Decimal(0)
    span = span_of(wanted.since, wanted.until)
    entries = FeeEntry.objects.filter(merchant=wanted.merchant_id)
    if wanted.chain:
        entries = entries.filter(chain=wanted.chain)
    parts = [_raw(entries, since, until) for since, until in span.rest]
    return round_to_cent(reduce(EXACT.add, parts, _sum(_days(wanted, span))))


def _days(wanted: ReportFilter, span: Span) -> QuerySet[FeeDay]:
    kept = FeeDay.objects.filter(merchant=wanted.merchant_id, day__gte=span.first, day__lt=span.end)
    return kept.filter(chain=wanted.chain) if wanted.chain else kept


def _raw(entries: QuerySet[FeeEntry], since: datetime, until: datetime) -> Decimal:
    return _sum(entries.filter(charged_at__gte=since, charged_at__lt=until))


def _sum(found: QuerySet[FeeDay] | QuerySet[FeeEntry]) -> Decimal:
    return found.aggregate(fees=Sum("amount"))["fees"] or Decimal(0)
