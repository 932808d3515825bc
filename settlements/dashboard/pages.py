"""The pages of settlements: waiting money, settlements, and one settlement's details."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from settlements.dashboard.forms import IntervalsForm
from settlements.dashboard.rows import PURPOSES, STATUSES, gas_rows, has_key, item_rows, settlement_row, settlement_rows
from settlements.dashboard.sums import sums_of
from settlements.models import Settlement
from settlements.payloads import CSV_HEADER, csv_cells
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.plan import MOST_ITEMS
from settlements.sweeps.schedule import settings_of
from wallets.states import ClaimKind


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of the list's query string; invalid ones are ignored."""

    purpose: str
    status: str

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter applies."""
        return bool(self.purpose or self.status)


@seated(get=Act.SEE)
def settlements(request: SeatedRequest) -> HttpResponse:
    """Show the three totals, the settlements, and the gas accounts."""
    return settlements_page(request)


def settlements_page(request: SeatedRequest, form: IntervalsForm | None = None, status: int = 200) -> HttpResponse:
    """Return the page; `form` is a refused schedule form."""
    seat, wanted = request.seat, _parse_wanted(request.GET)
    found = _found(seat, wanted).select_related("transaction")
    page = keyset_page(found, request.GET.dict())
    intervals = settings_of(seat.merchant)
    told = {"minimum": intervals.minimum, "every_hours": intervals.every_hours}
    context = {
        "wanted": wanted,
        "rows": settlement_rows(page.rows),
        "pager": page,
        "sums": sums_of(seat),
        "purposes": PURPOSES.items(),
        "statuses": [(status, badge.label) for status, badge in STATUSES.items()],
        "has_key": has_key(),
        "gas": gas_rows(now=timezone.now()),
        "intervals": intervals,
        "form": form or IntervalsForm(initial=told),
        "export": request.GET.urlencode(),
    }
    return render(request, "dashboard/settlements/list.html", context, status=status)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send the settlements of the list as CSV."""
    seat = request.seat
    chunks = chunks_by_key(_found(seat, _parse_wanted(request.GET)))
    cells = map(csv_cells, chain.from_iterable(chunks))
    return csv_response(f"settlements-{seat.mode}", CSV_HEADER, cells)


@seated(get=Act.SEE)
def settlement(request: SeatedRequest, *, settlement_id: str) -> HttpResponse:
    """Show one settlement and its forwarders."""
    found = _mine(request.seat).filter(public_id=settlement_id)
    one = found.select_related("transaction").first()
    if one is None:
        raise Http404
    items = one.items.select_related("deposit").order_by("-units", "pk")
    is_open = one.status in {SettlementStatus.PENDING, SettlementStatus.SENT}
    context = {
        "row": settlement_row(one),
        "items": item_rows(list(items[:MOST_ITEMS])),
        "batch": one.batch if is_open and one.sender == Sender.WALLET else "",
    }
    return render(request, "dashboard/settlements/detail.html", context)


def _mine(seat: Seat) -> QuerySet[Settlement]:
    return Settlement.objects.filter(merchant=seat.merchant, mode=seat.mode)


def _parse_wanted(query: Mapping[str, str]) -> Wanted:
    purpose, status = query.get("purpose", ""), query.get("status", "")
    return Wanted(
        purpose=purpose if purpose in ClaimKind.values else "",
        status=status if status in SettlementStatus.values else "",
    )


def _found(seat: Seat, wanted: Wanted) -> QuerySet[Settlement]:
    found = _mine(seat)
    if wanted.purpose:
        found = found.filter(purpose=wanted.purpose)
    return found.filter(status=wanted.status) if wanted.status else found
