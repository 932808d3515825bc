"""The pages of fees, where the operator charges them: plan and months, each month's statement, and its entries as a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.fees.service import charges_fees
from accounts.models import FeeEntry, Merchant
from accounts.states import TIER_RATES, FeeKind, FeeTier, Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import KeysetPage
from gateway.core.exports import csv_response
from gateway.core.postgres.replica import reads_replica
from gateway.core.times import iso
from reports.months import Month, month_of, months_until, parse_month
from reports.statements import StatementLine, bookings, month_totals, statement_of
from wallets.networks import chain_spec

MONTHS_SHOWN: Final = 12
KINDS: Final = {FeeKind.CHECKOUT: gettext_noop("Checkouts"), FeeKind.X402: gettext_noop("Machine payments")}
CSV_HEADER: Final = ("time", "entry", "kind", "id", "network", "token", "received", "rate", "fee", "charged_at")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a statement, formatted for people."""

    kind: str
    chain: str
    name: str
    rate: str
    line: StatementLine


@seated(get=Act.SEE)
@reads_replica
def fees(request: SeatedRequest) -> HttpResponse:
    """Show the plan, its rate, the other plans, and the months' fees; test mode has none. Raises Http404 where nobody charges fees."""
    if not charges_fees():
        raise Http404
    seat = request.seat
    present = month_of(timezone.now())
    newest = parse_month(request.GET.get("until", "")) or present
    if not _first(seat.merchant) <= newest <= present:
        newest = present
    months = _months(seat, newest)
    totals = month_totals(seat.merchant.pk, months)
    page = KeysetPage(totals, _newer(months, present), _older(months, seat.merchant))
    context = {
        "plans": _plans(seat.merchant),
        "rate": _percent(seat.merchant.fee_rate),
        "months": page.rows,
        "present": present,
        "pager": page,
    }
    return render(request, "dashboard/reports/fees.html", context)


@seated(get=Act.SEE)
@reads_replica
def statement(request: SeatedRequest, *, month: str) -> HttpResponse:
    """Show a month. Raises Http404 for a future month, or one before the merchant existed."""
    seat, now = request.seat, timezone.now()
    wanted = _parse_month(seat, month, now=now)
    found = statement_of(seat.merchant.pk, wanted)
    context = {
        "month": wanted,
        "statement": found,
        "charged": [_row(line) for line in found.charged],
        "taken_back": [_row(line) for line in found.taken_back],
        "charged_again": [_row(line) for line in found.charged_again],
        "is_over": wanted.ends <= now,
        "rate": _percent(seat.merchant.fee_rate),
        "now": now,
    }
    return render(request, "dashboard/reports/statement.html", context)


@seated(get=Act.EXPORT)
def statement_csv(request: SeatedRequest, *, month: str) -> HttpResponseBase:
    """Send all fees of a month, its refunds and repeated charges included, as CSV."""
    seat = request.seat
    wanted = _parse_month(seat, month, now=timezone.now())
    return csv_response(f"fees-{wanted}", CSV_HEADER, _cells(seat.merchant.pk, wanted))


def _parse_month(seat: Seat, text: str, *, now: datetime) -> Month:
    month = parse_month(text)
    is_known = month and _first(seat.merchant) <= month <= month_of(now)
    # Test mode is free, and its pages must not show live fees.
    if month is None or not is_known or seat.mode != Mode.LIVE or not charges_fees():
        raise Http404
    return month


def _first(merchant: Merchant) -> Month:
    return month_of(merchant.created_at)


def _months(seat: Seat, newest: Month) -> list[Month]:
    if seat.mode != Mode.LIVE:
        return []
    return months_until(newest, _first(seat.merchant), most=MONTHS_SHOWN)


def _newer(months: list[Month], present: Month) -> str:
    if not months or months[0] >= present:
        return ""
    return f"until={min(months[0].plus(MONTHS_SHOWN), present)}"


def _older(months: list[Month], merchant: Merchant) -> str:
    if not months or months[-1] <= _first(merchant):
        return ""
    return f"until={months[-1].plus(-1)}"


def _plans(merchant: Merchant) -> list[tuple[str, str, bool]]:
    plans = [(str(tier.label), _percent(rate), tier == merchant.fee_tier) for tier, rate in TIER_RATES.items()]
    if merchant.fee_tier == FeeTier.CUSTOM:
        plans.append((str(FeeTier.CUSTOM.label), _percent(merchant.fee_rate), True))
    return plans


def _row(line: StatementLine) -> Row:
    return Row(
        kind=gettext(KINDS[FeeKind(line.kind)]),
        chain=line.chain,
        name=gettext("%(token)s on %(network)s") % {"token": line.token, "network": chain_spec(line.chain).title},
        rate=_percent(line.rate),
        line=line,
    )


def _cells(merchant_id: int, month: Month) -> Iterator[list[object]]:
    return (_cell_row(entry) for entry in bookings(merchant_id, month))


def _cell_row(entry: FeeEntry) -> list[object]:
    """Return an entry's cells: amounts are numbers, refunds negative, so that the column adds up to the statement."""
    first = entry.corrects or entry
    return [
        iso(entry.charged_at),
        _word(entry),
        entry.kind,
        entry.subject_id,
        entry.chain,
        entry.token,
        entry.received,
        entry.rate,
        entry.amount,
        iso(first.charged_at),
    ]


def _word(entry: FeeEntry) -> str:
    if entry.number == 0:
        return "fee"
    return "taken_back" if entry.number % 2 else "charged_again"


def _percent(rate: Decimal) -> str:
    """Format a fraction as a percentage without needless zeros."""
    return f"{rate * 100:.3f}".rstrip("0").rstrip(".") + " %"
