"""The pages of settlements: waiting money, settlements, and one settlement's details."""

from itertools import chain

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from gateway.core.web.lists import FilterChoice, FilterForm
from settlements.dashboard.forms import IntervalsForm
from settlements.dashboard.rows import PURPOSES, gas_rows, has_key, item_rows
from settlements.dashboard.sums import sums_of
from settlements.models import Settlement
from settlements.serializers import CSV_HEADER, csv_cells
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.plan import MOST_ITEMS
from settlements.sweeps.schedule import settings_of


class SettlementFilters(FilterForm[Settlement]):
    """The filters of the list: what the money was paid for, and the status."""

    purpose = FilterChoice(_("Of"), PURPOSES.items(), everything=_("Everything"))
    status = FilterChoice(
        _("Status"), [(status, status.badge.word) for status in SettlementStatus], everything=_("Any status")
    )


@seated(get=Act.SEE)
def settlements(request: SeatedRequest) -> HttpResponse:
    """Show the three totals, the settlements, and the gas accounts."""
    return settlements_page(request)


def settlements_page(request: SeatedRequest, form: IntervalsForm | None = None, status: int = 200) -> HttpResponse:
    """Return the page; `form` is a refused schedule form."""
    seat, filters = request.seat, SettlementFilters(request.GET)
    page = keyset_page(filters.filter(_mine(seat).select_related("transaction")), request.GET.dict())
    intervals = settings_of(seat.merchant)
    told = {"minimum": intervals.minimum, "every_hours": intervals.every_hours}
    context = {
        "filters": filters,
        "rows": page.rows,
        "pager": page,
        "sums": sums_of(seat),
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
    chunks = chunks_by_key(SettlementFilters(request.GET).filter(_mine(seat)))
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
        "settlement": one,
        "items": item_rows(list(items[:MOST_ITEMS])),
        "batch": one.batch if is_open and one.sender == Sender.WALLET else "",
    }
    return render(request, "dashboard/settlements/detail.html", context)


def _mine(seat: Seat) -> QuerySet[Settlement]:
    return Settlement.objects.filter(merchant=seat.merchant, mode=seat.mode)
