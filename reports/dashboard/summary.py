"""The page of reports: incoming and outgoing money of some days, by network and token, by day and by tag, and as a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from decimal import Decimal
from typing import Final
from urllib.parse import urlencode

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.fees.service import charges_fees
from accounts.merchants.time_zones import zone_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.exports import csv_response
from gateway.core.money import from_units
from gateway.core.postgres.replica import reads_replica
from gateway.core.times import parse_day, today_in
from gateway.core.web.lists import times_of
from reports.entries import report_rows
from reports.inputs import LONGEST_SPAN, ReportFilter
from reports.serializers import CSV_HEADER, csv_cells
from reports.summaries import Balance, Summary, Sums, summary_of
from wallets.networks import chain_spec

RANGES: Final = (7, 30, 90)
_USUAL_DAYS: Final = 30
_DAY: Final = timedelta(days=1)
# A summary's longest span, its last day included.
_MOST_DAYS: Final = LONGEST_SPAN // _DAY


@dataclass(frozen=True, slots=True)
class DateRange:
    """Whole days in the merchant's time zone, both included. `number` is the requested range; None for dates."""

    since: date
    until: date
    number: int | None

    @property
    def query(self) -> str:
        """Return the query string that asks for the same days."""
        return urlencode({"from": self.since, "to": self.until})


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A line of a table: its subject, and the totals in dollars."""

    name: str
    chain: str
    received: Decimal
    sent: Decimal
    unconfirmed: Decimal
    count: int
    credited: int


@dataclass(frozen=True, slots=True)
class HeldBalance:
    """Watched wallets' balance of a token on a network, in whole tokens."""

    name: str
    chain: str
    amount: Decimal


@seated(get=Act.SEE)
@reads_replica
def reports(request: SeatedRequest) -> HttpResponse:
    """Show the merchant's incoming payments, and the movements of its watched wallets."""
    now, zone = timezone.now(), zone_of(request.seat.merchant)
    days = _parse_days(request.GET, today=today_in(zone, now=now))
    summary = summary_of(_filter(request.seat, days, zone), now=now, zone=zone)
    context = {
        "ranges": RANGES,
        "days": days,
        "zone": zone,
        "total": _line("", summary.total),
        "came": summary.total.came,
        "left": summary.total.left,
        "waiting": summary.total.waiting,
        "uncredited": summary.total.uncredited,
        "tokens": _token_lines(summary),
        "by_day": [(day, _line("", sums)) for day, sums in summary.by_day.items()],
        "by_tag": [_line(tag, sums) for tag, sums in summary.by_tag.items()],
        "balances": [_held(balance) for balance in summary.balances],
        "fees": summary.fees if charges_fees() else None,
    }
    return render(request, "dashboard/reports/summary.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send every transfer of the days as CSV."""
    zone = zone_of(request.seat.merchant)
    days = _parse_days(request.GET, today=today_in(zone, now=timezone.now()))
    cells = csv_cells(report_rows(_filter(request.seat, days, zone)))
    name = f"transactions-{request.seat.mode}-{days.since}-{days.until}"
    return csv_response(name, CSV_HEADER, cells)


def _parse_days(query: Mapping[str, str], *, today: date) -> DateRange:
    since, until = parse_day(query.get("from", "")), parse_day(query.get("to", ""))
    if since is None and until is None:
        asked = query.get("days", "")
        number = int(asked) if asked in map(str, RANGES) else _USUAL_DAYS
        return DateRange(today - (number - 1) * _DAY, today, number)
    until = until or max(today, since or today)
    since = since or _earlier(until, _USUAL_DAYS)
    if since > until:
        since, until = until, since
    return DateRange(max(since, _earlier(until, _MOST_DAYS)), until, None)


def _earlier(day: date, days: int) -> date:
    """Return the first of this many days that end with `day`."""
    return day - (days - 1) * _DAY


def _filter(seat: Seat, days: DateRange, zone: tzinfo) -> ReportFilter:
    times = times_of(days.since, days.until, zone)
    return ReportFilter(seat.merchant.pk, seat.mode, since=times.since, until=times.until)


def _token_lines(summary: Summary) -> list[SummaryRow]:
    ranked = sorted(summary.by_token.items(), key=lambda item: -item[1].inflow)
    return [_line(_token_name(chain, token), sums, chain) for (chain, token), sums in ranked]


def _token_name(chain: str, token: str) -> str:
    return gettext("%(token)s on %(network)s") % {"token": token, "network": chain_spec(chain).title}


def _line(name: str, sums: Sums, chain: str = "") -> SummaryRow:
    return SummaryRow(
        name=name,
        chain=chain,
        received=from_units(sums.inflow),
        sent=from_units(sums.outflow),
        unconfirmed=from_units(sums.unconfirmed),
        count=sums.count,
        credited=sums.credited,
    )


def _held(balance: Balance) -> HeldBalance:
    return HeldBalance(
        name=_token_name(balance.chain, balance.token), chain=balance.chain, amount=from_units(balance.units)
    )
