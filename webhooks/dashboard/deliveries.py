"""The merchant's pages of deliveries: the list, one delivery with its attempts, and retries."""

from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.permissions import Act
from accounts.team.seats import Seat, SeatedRequest, seated
from gateway.core.api.errors import ConflictError
from gateway.core.postgres.replica import reads_replica
from gateway.core.pretty_json import indented
from gateway.core.web.client_address import address_or_none
from webhooks.dashboard.delivery_list import (
    MOST_FOUND,
    Wanted,
    attempts_of,
    deliveries_of,
    list_page,
    listed,
    parse_wanted,
)
from webhooks.dashboard.forms import RangeForm
from webhooks.dashboard.words import TABS
from webhooks.delivery.retries import retriable, retry, retry_range
from webhooks.models import Delivery
from webhooks.outbox.delivery_pages import DeliveryWalk, event_types
from webhooks.states import DeliveryStatus

Tab = tuple[str, str, bool, int | None]


@seated(get=Act.SEE)
@reads_replica
def deliveries(request: SeatedRequest) -> HttpResponse:
    """List deliveries, newest first."""
    seat = request.seat
    wanted = parse_wanted(request.GET)
    page = list_page(seat, wanted, request.GET)
    types = event_types(DeliveryWalk(seat.merchant.pk, seat.mode))
    context = {
        "wanted": wanted,
        "rows": page.rows,
        "pager": page,
        "tabs": _tabs(seat, wanted),
        "types": [(name, name) for name in types],
        "is_cut": bool(wanted.text) and len(page.rows) >= MOST_FOUND,
    }
    return render(request, "dashboard/webhooks/deliveries.html", context)


def _tabs(seat: Seat, wanted: Wanted) -> list[Tab]:
    address = seat.url("dashboard_deliveries")
    return [
        (label, f"{address}?{wanted.query(status)}", status == (wanted.status or ""), None) for status, label in TABS
    ]


@seated(get=Act.SEE)
def delivery(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Show a delivery, its attempts, and the body that is sent."""
    found = _found(request.seat, delivery_id)
    context = _detail(found) | {"body": indented(bytes(found.event.body).decode())}
    return render(request, "dashboard/webhooks/delivery.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Return what changed on a delivery's page; empty if nothing changed."""
    context = _detail(_found(request.seat, delivery_id)) | {"is_update": True}
    if request.GET.get("seen") == context["digest"]:
        return HttpResponse(status=204)
    return render(request, "dashboard/webhooks/_live.html", context)


def _detail(found: Delivery) -> dict[str, object]:
    attempts = attempts_of(found)
    return {
        "shown": listed([found])[0],
        "attempts": attempts,
        "is_moving": found.status == DeliveryStatus.PENDING,
        # Everything that may change: the attempts and their result.
        "digest": f"{found.status}-{found.tries}-{len(attempts)}",
    }


@seated(post=Act.RUN_PAYMENTS)
def retry_one(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Send a delivery again, at once."""
    found = _found(request.seat, delivery_id)
    try:
        retry(found, now=timezone.now(), actor=request.user, address=address_or_none(request))
    except ConflictError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "It is being sent again.")
    return HttpResponseRedirect(request.seat.url("dashboard_delivery", delivery_id=delivery_id))


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def retry_many(request: SeatedRequest) -> HttpResponse:
    """Ask for a time range, show how many deliveries it has, and send them again."""
    if request.method == "POST":
        return _retry_range(request, RangeForm(request.POST))
    if not request.GET:
        return _range_page(request, RangeForm(initial=_last_day()))
    form = RangeForm(request.GET)
    if not form.is_valid():
        return _range_page(request, form, status=422)
    try:
        count = retriable(_walk(request.seat, form)).count()
    except ConflictError as error:
        form.add_error(None, error.message)
        return _range_page(request, form, status=409)
    return _range_page(request, form, count=count)


def _retry_range(request: SeatedRequest, form: RangeForm) -> HttpResponse:
    if not form.is_valid():
        return _range_page(request, form, status=422)
    try:
        count = retry_range(
            request.seat.merchant,
            mode=request.seat.mode,
            since=form.cleaned_data["since"],
            until=form.cleaned_data["until"],
            statuses=form.statuses,
            now=timezone.now(),
            actor=request.user,
            address=address_or_none(request),
        )
    except ConflictError as error:
        form.add_error(None, error.message)
        return _range_page(request, form, status=409)
    plural = "delivery is" if count == 1 else "deliveries are"
    messages.success(request, f"{count:,} {plural} being sent again.")
    return HttpResponseRedirect(request.seat.url("dashboard_deliveries"))


def _walk(seat: Seat, form: RangeForm) -> DeliveryWalk:
    return DeliveryWalk(
        seat.merchant.pk, seat.mode, form.statuses, since=form.cleaned_data["since"], until=form.cleaned_data["until"]
    )


def _last_day() -> dict[str, object]:
    # The current minute is included.
    until = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    return {"since": until - timedelta(days=1), "until": until}


def _range_page(
    request: SeatedRequest, form: RangeForm, *, status: int = 200, count: int | None = None
) -> HttpResponse:
    context = {"form": form, "count": count}
    return render(request, "dashboard/webhooks/range.html", context, status=status)


def _found(seat: Seat, delivery_id: str) -> Delivery:
    found = deliveries_of(seat).filter(public_id=delivery_id).first()
    if found is None:
        raise Http404
    return found
