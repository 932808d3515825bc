"""The pages for the accountant: the months, each month's statement to print, its files, and what the merchant holds now."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.defaultfilters import date
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.fees.service import charges_fees
from accounts.merchants.time_zones import set_time_zone, zone_names, zone_of
from accounts.models import Branding
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import KeysetPage
from gateway.core.exports import ExportTable, csv_response, zip_response
from gateway.core.money import readable
from gateway.core.postgres.replica import reads_replica
from reports.accountant.balances import holdings_of
from reports.accountant.files import CSV_FILES, Cells, DatevBooks, datev_pieces, kind_words
from reports.accountant.lines import Line, LineKind, month_lines
from reports.accountant.places import month_filter
from reports.accountant.sums import month_sums
from reports.inputs import ReportFilter
from reports.months import Month, month_of, months_until, parse_month
from reports.summaries import fees_of
from wallets.networks import chain_spec, decimals_of

MONTHS_SHOWN: Final = 12
MOST_PRINTED: Final = 1_000
"""The most lines of a printed statement; the file has all."""

_DATEV: Final = "datev"
_XERO: Final = "xero"
MOST_XERO_LINES: Final = 1_000
"""How many lines of a statement Xero imports at once."""


@dataclass(frozen=True, slots=True)
class Period:
    """A month in a merchant's time zone: `since` <= time < `until`, in UTC."""

    month: Month
    zone: tzinfo

    @property
    def since(self) -> datetime:
        """Return its first moment."""
        return self.month.begins_in(self.zone)

    @property
    def until(self) -> datetime:
        """Return the first moment after it."""
        return self.month.ends_in(self.zone)

    def wanted(self, seat: Seat) -> ReportFilter:
        """Return the filter of its lines."""
        return month_filter(seat.merchant.pk, seat.mode, self.since, self.until)


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of a statement, formatted for people: its local time, what the line is, and what it changes, with a sign if negative."""

    line: Line
    when: str
    words: str
    title: str
    amount: str


class TimeZoneForm(forms.Form):
    """The merchant's time zone."""

    time_zone = forms.ChoiceField(
        label=_("Time zone"), help_text=_("Days and months begin and end in it. Times are kept in UTC.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["time_zone"].choices = [(name, name.replace("_", " ")) for name in zone_names()]  # type: ignore[attr-defined]


class DatevForm(forms.Form):
    """What DATEV's file is for. Missing or wrong numbers count as the usual ones."""

    adviser = forms.IntegerField(label="Beraternummer", min_value=1_001, max_value=9_999_999, required=False)
    client = forms.IntegerField(label="Mandantennummer", min_value=1, max_value=99_999, required=False)
    account = forms.RegexField(r"\A[0-9]{4,8}\Z", label="Konto", required=False)
    contra_account = forms.RegexField(r"\A[0-9]{4,9}\Z", label="Gegenkonto", required=False)

    def books(self) -> DatevBooks:
        """Return the numbers."""
        self.is_valid()
        return DatevBooks(**{name: value for name, value in self.cleaned_data.items() if value})


@seated(get=Act.SEE)
def months(request: SeatedRequest) -> HttpResponse:
    """List the months, each with its statement and its file."""
    return _months_page(request, TimeZoneForm(initial={"time_zone": request.seat.merchant.time_zone}))


@seated(post=Act.MANAGE_BRANDING)
def time_zone(request: SeatedRequest) -> HttpResponse:
    """Set the time zone: who may change what buyers see may say where the business is."""
    form = TimeZoneForm(request.POST)
    if not form.is_valid():
        return _months_page(request, form, status=422)
    set_time_zone(request.seat.merchant, form.cleaned_data["time_zone"], now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("Time zone saved. Days and months begin and end in it."))
    return HttpResponseRedirect(request.seat.url("dashboard_months"))


@seated(get=Act.SEE)
@reads_replica
def month(request: SeatedRequest, *, month: str) -> HttpResponse:
    """Show a month's statement. Raises Http404 for a future month, or one before anything could be recorded."""
    seat, now = request.seat, timezone.now()
    period = _period(seat, month, now=now)
    has_fees = charges_fees()
    # The file has what was charged before the operator stopped; no page tells of fees then.
    lines = (line for line in month_lines(period.wanted(seat)) if has_fees or line.kind is not LineKind.FEE)
    printed = list(itertools.islice(lines, MOST_PRINTED + 1))
    context = {
        "month": period.month,
        "zone": period.zone,
        "sums": month_sums(seat.merchant.pk, seat.mode, since=period.since, until=period.until, now=now),
        "lines": [_printed(line, period.zone) for line in printed[:MOST_PRINTED]],
        "has_more": len(printed) > MOST_PRINTED,
        "most": MOST_PRINTED,
        "is_over": period.until <= now,
        "made_at": date(now.astimezone(period.zone), gettext("j F Y, H:i")),
        "fees": fees_of(period.wanted(seat)) if has_fees else None,
        "legal_lines": _legal_lines(seat),
        "datev": DatevForm(initial=_initial(DatevBooks())),
    }
    return render(request, "dashboard/reports/month.html", context)


@seated(get=Act.EXPORT)
def month_file(request: SeatedRequest, *, month: str, kind: str) -> HttpResponseBase:
    """Send a month's file, of any length. Raises Http404 for one that there is not."""
    seat, now = request.seat, timezone.now()
    period = _period(seat, month, now=now)
    lines = month_lines(period.wanted(seat), masks_emails=not seat.can(Act.RUN_PAYMENTS))
    name = f"florin-{kind}-{seat.mode}-{period.month}"
    if kind == _DATEV:
        pieces = datev_pieces(lines, period.zone, period.month, DatevForm(request.GET).books(), now=now)
        response = StreamingHttpResponse(pieces, content_type="text/csv; charset=windows-1252")
        # DATEV looks for this beginning.
        response["Content-Disposition"] = f'attachment; filename="EXTF_Buchungsstapel_{name}.csv"'
        response["X-Content-Type-Options"] = "nosniff"
        return response
    if kind not in CSV_FILES:
        raise Http404
    header, cells = CSV_FILES[kind]
    if kind == _XERO:
        return _files_of_xero(name, header, cells(lines, period.zone))
    return csv_response(name, header, cells(lines, period.zone), for_people=kind == "accountant")


def _files_of_xero(name: str, header: Sequence[str], rows: Iterable[Cells]) -> HttpResponseBase:
    """Return one file, or an archive of as many as Xero needs: it takes MOST_XERO_LINES lines at once."""
    remaining = iter(rows)
    first = list(itertools.islice(remaining, MOST_XERO_LINES + 1))
    if len(first) <= MOST_XERO_LINES:
        return csv_response(name, header, first, for_people=False)
    return zip_response(name, _parts(name, header, itertools.chain(first, remaining)), for_people=False)


def _parts(name: str, header: Sequence[str], rows: Iterator[Cells]) -> Iterator[ExportTable]:
    for number in itertools.count(1):
        if not (part := list(itertools.islice(rows, MOST_XERO_LINES))):
            return
        yield ExportTable(f"{name}-{number}", tuple(header), part)


@seated(get=Act.SEE)
@reads_replica
def balances(request: SeatedRequest) -> HttpResponse:
    """Show what the merchant holds, on which network, and as of when that was read.

    The page asks for its figures again by script, with `ask` in the query: then nodes are asked about unwatched wallets.
    """
    seat, now = request.seat, timezone.now()
    asks = request.GET.get("ask") == "1"
    context = {"holdings": holdings_of(seat.merchant, now=now, asks=asks) if seat.mode == Mode.LIVE else None}
    name = "_holdings" if asks and "HX-Request" in request.headers else "balances"
    return render(request, f"dashboard/reports/{name}.html", context)


def _months_page(request: SeatedRequest, form: TimeZoneForm, status: int = 200) -> HttpResponse:
    seat = request.seat
    zone = zone_of(seat.merchant)
    present, first = month_of(timezone.now(), zone), _first(seat, zone)
    newest = parse_month(request.GET.get("until", "")) or present
    if not first <= newest <= present:
        newest = present
    shown = months_until(newest, first, most=MONTHS_SHOWN)
    newer = f"until={min(newest.plus(MONTHS_SHOWN), present)}" if newest < present else ""
    older = f"until={shown[-1].plus(-1)}" if shown[-1] > first else ""
    context = {
        "months": shown,
        "present": present,
        "zone": zone,
        "form": form,
        "pager": KeysetPage(shown, newer, older),
    }
    return render(request, "dashboard/reports/months.html", context, status=status)


def _first(seat: Seat, zone: tzinfo) -> Month:
    """Return the first month of which anything may be recorded: wallets' history is read back from when they are watched."""
    return month_of(seat.merchant.created_at - timedelta(days=settings.WALLET_HISTORY_DAYS), zone)


def _period(seat: Seat, text: str, *, now: datetime) -> Period:
    zone, asked = zone_of(seat.merchant), parse_month(text)
    if asked is None or not _first(seat, zone) <= asked <= month_of(now, zone):
        raise Http404
    return Period(asked, zone)


def _printed(line: Line, zone: tzinfo) -> PrintedLine:
    return PrintedLine(
        line,
        when=date(line.moment.astimezone(zone), gettext("j M, H:i")),
        words=kind_words(line),
        title=gettext("%(token)s on %(network)s") % {"token": line.token, "network": chain_spec(line.chain).title},
        amount=readable(line.net, decimals_of(line.chain, line.token)).replace("-", "\N{MINUS SIGN}"),
    )


def _legal_lines(seat: Seat) -> str:
    mine = Branding.objects.filter(merchant=seat.merchant)
    return mine.values_list("legal_lines", flat=True).first() or ""


def _initial(books: DatevBooks) -> dict[str, Any]:
    return {name: getattr(books, name) for name in DatevForm.base_fields}
