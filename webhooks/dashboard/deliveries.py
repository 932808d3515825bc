"""The merchant's pages of deliveries: the list, one delivery with its attempts, and retries."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError
from gateway.core.json import indented
from gateway.core.postgres.replica import reads_replica
from gateway.core.web.badges import Badge
from gateway.core.web.client_address import address_or_none
from webhooks.dashboard.forms import RangeForm
from webhooks.dashboard.words import DELIVERIES, TABS, result_of, trouble_of
from webhooks.delivery.retries import retriable, retry, retry_range
from webhooks.models import Attempt, Delivery
from webhooks.outbox.delivery_pages import DeliveryWalk, Position, delivery_keys, event_types
from webhooks.outbox.events import SAMPLE_PREFIX
from webhooks.states import DeliveryStatus

PAGE_ROWS: Final = 25
# A checkout has few events; a search has no further pages.
MOST_FOUND: Final = 100
# Twelve are automatic; there may be any number of manual ones.
MOST_ATTEMPTS: Final = 50
_LONGEST_SEARCH: Final = 100

Tab = tuple[str, str, bool, int | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a list's query string; invalid ones are ignored."""

    status: DeliveryStatus | None
    type: str
    text: str

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies."""
        return bool(self.type or self.text)

    def query(self, status: str) -> str:
        """Return the query string of the same list on another tab."""
        named = {"status": status, "type": self.type, "q": self.text}
        return urlencode({name: value for name, value in named.items() if value})

    def walk(self, seat: Seat) -> DeliveryWalk:
        """Return the walk over the merchant's deliveries with these filters."""
        statuses = (self.status,) if self.status else tuple(DeliveryStatus)
        return DeliveryWalk(seat.merchant.pk, seat.mode, statuses, type=self.type)


def parse_wanted(query: Mapping[str, str]) -> Wanted:
    """Parse a query string from an untrusted client."""
    status = query.get("status", "")
    return Wanted(
        status=DeliveryStatus(status) if status in DeliveryStatus.values else None,
        type=_plain(query.get("type", "")),
        text=_plain(query.get("q", "")),
    )


def _plain(text: str) -> str:
    text = text.strip()
    # PostgreSQL has no NUL, and no id has such characters.
    return text if text.isprintable() and len(text) <= _LONGEST_SEARCH else ""


@dataclass(frozen=True, slots=True)
class ListedDelivery:
    """A row of the list. `last` is the last attempt's result, empty before the first."""

    row: Delivery
    badge: Badge
    attempts: int
    last: str
    next_at: datetime | None
    is_sample: bool


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list, newest first, and the query strings of the pages beside it, empty at the ends."""

    rows: Sequence[ListedDelivery]
    newer: str
    older: str


def deliveries_of(seat: Seat) -> QuerySet[Delivery]:
    """Return a merchant's deliveries of one mode, with their events and endpoints."""
    mine = Delivery.objects.filter(merchant=seat.merchant, mode=seat.mode)
    # A page of bodies would be megabytes, and the list shows none.
    return mine.select_related("event", "endpoint").defer("event__body")


def list_page(seat: Seat, wanted: Wanted, query: Mapping[str, str]) -> ListPage:
    """Return the page of a list next to the delivery that `before` or `after` names."""
    if wanted.text:
        return ListPage(listed(_found(seat, wanted)), "", "")
    before = _position(seat, query.get("before", ""))
    after = _position(seat, query.get("after", ""))
    keys = delivery_keys(wanted.walk(seat), rows=PAGE_ROWS + 1, before=before, after=after)
    has_more, keys = len(keys) > PAGE_ROWS, keys[:PAGE_ROWS]
    rows = list(deliveries_of(seat).filter(pk__in=keys).order_by("-created_at", "-pk"))
    if not rows:
        return ListPage([], "", "")
    kept = wanted.query(wanted.status or "")
    newer, older = (has_more, True) if after else (before is not None, has_more)
    return ListPage(
        listed(rows),
        newer=_link(kept, "after", rows[0]) if newer else "",
        older=_link(kept, "before", rows[-1]) if older else "",
    )


def _found(seat: Seat, wanted: Wanted) -> QuerySet[Delivery]:
    """Return the deliveries that match a checkout, event or delivery id."""
    rows = deliveries_of(seat)
    if wanted.text.startswith("whd_"):
        rows = rows.filter(public_id=wanted.text)
    elif wanted.text.startswith("evt_"):
        rows = rows.filter(event__public_id=wanted.text)
    else:
        rows = rows.filter(event__subject_id=wanted.text)
    if wanted.status:
        rows = rows.filter(status=wanted.status)
    if wanted.type:
        rows = rows.filter(event_type=wanted.type)
    return rows.order_by("-created_at", "-pk")[:MOST_FOUND]


def _position(seat: Seat, public_id: str) -> Position | None:
    rows = deliveries_of(seat).filter(public_id=_plain(public_id))
    return rows.values_list("created_at", "pk").first()


def _link(kept: str, move: str, row: Delivery) -> str:
    return "&".join(filter(None, [kept, urlencode({move: row.public_id})]))


def listed(rows: Iterable[Delivery]) -> list[ListedDelivery]:
    """Return the list's rows of deliveries."""
    rows = list(rows)
    tries = _tries([row.pk for row in rows])
    return [_listed(row, tries.get(row.pk, [])) for row in rows]


def _listed(row: Delivery, tries: Sequence[Attempt]) -> ListedDelivery:
    return ListedDelivery(
        row=row,
        badge=DELIVERIES[DeliveryStatus(row.status)],
        attempts=len(tries),
        last=result_of(tries[-1]) if tries else "",
        next_at=row.next_attempt_at if row.status == DeliveryStatus.PENDING else None,
        is_sample=row.event.public_id.startswith(SAMPLE_PREFIX),
    )


def _tries(keys: Sequence[int]) -> dict[int, list[Attempt]]:
    found: dict[int, list[Attempt]] = {}
    rows = Attempt.objects.filter(delivery__in=keys).order_by("pk")
    for attempt in rows.only("delivery_id", "status_code", "error"):
        found.setdefault(attempt.delivery_id, []).append(attempt)
    return found


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An attempt: `result` is a few words, `trouble` a sentence about the failure or empty."""

    row: Attempt
    number: int
    result: str
    trouble: str


def attempts_of(delivery: Delivery) -> list[ShownAttempt]:
    """Return a delivery's newest attempts, latest first."""
    rows = delivery.attempts.order_by("-pk")
    count = rows.count()
    return [
        ShownAttempt(row, count - index, result_of(row), trouble_of(row))
        for index, row in enumerate(rows[:MOST_ATTEMPTS])
    ]


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
    found = _one(request.seat, delivery_id)
    context = _detail(found) | {"body": indented(bytes(found.event.body).decode())}
    return render(request, "dashboard/webhooks/delivery.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Return what changed on a delivery's page; empty if nothing changed."""
    context = _detail(_one(request.seat, delivery_id)) | {"is_update": True}
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
    found = _one(request.seat, delivery_id)
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


def _one(seat: Seat, delivery_id: str) -> Delivery:
    found = deliveries_of(seat).filter(public_id=delivery_id).first()
    if found is None:
        raise Http404
    return found
