"""The merchant's pages of deliveries: the list, one delivery with its attempts, and retries."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError
from gateway.core.api.pagination import PAGE_ROWS, KeysetPage, TimedRows, page_ahead, page_behind, page_by_time
from gateway.core.json import indented
from gateway.core.postgres.replica import reads_replica
from gateway.core.web.badges import Badge
from gateway.core.web.form_errors import words_of
from gateway.core.web.lists import AnyChoice, FilterForm, HiddenChoice, SearchText
from webhooks.dashboard.forms import RangeForm
from webhooks.dashboard.words import FAILING_TAB, TABS, result_of, trouble_of
from webhooks.delivery.retries import retriable, retry, retry_range
from webhooks.models import FAILING, Attempt, Delivery
from webhooks.outbox.delivery_pages import DeliveryWalk, Position, delivery_keys, event_types
from webhooks.outbox.events import SAMPLE_PREFIX
from webhooks.states import DeliveryStatus

# A checkout has few events; a search has no further pages.
MOST_FOUND: Final = 100
# Twelve are automatic; there may be any number of manual ones.
MOST_ATTEMPTS: Final = 50
LONGEST_SEARCH: Final = 100
# Four random characters are shared by one id in a million. A mode alone begins nearly all of them.
_ID_BEGINNING: Final = re.compile(r"[a-z0-9]{2,4}_(?:live_|test_)?(?!(?:live|test)$)[0-9a-z]{4,25}", re.ASCII)
# Ids consist of digits and small letters: whatever begins with a text is not after it and as many of the last letter.
_LAST: Final = "z" * LONGEST_SEARCH
_NEWEST_FIRST: Final = ("-created_at", "-pk")


class DeliveryFilters(FilterForm[Delivery]):
    """The filters of the list: a tab, an id, and a type of event. The merchant's `types` are offered, others are valid."""

    tabbed_by = "status"
    status = HiddenChoice(TABS)
    q = SearchText(_("Checkout, event or delivery id"), longest=LONGEST_SEARCH)
    type = AnyChoice(_("Event"), everything=_("All"))

    def clean_q(self) -> str:
        """Return the text if it can be an id."""
        return plain_id(self.cleaned_data["q"])

    def clean_type(self) -> str:
        """Return the type if it can be one."""
        return plain_id(self.cleaned_data["type"])

    def walk(self, seat: Seat) -> DeliveryWalk:
        """Return the walk over the merchant's deliveries with these filters, which are not those of the failing ones."""
        status = self.cleaned_data["status"]
        statuses = (status,) if status else tuple(DeliveryStatus)
        return DeliveryWalk(seat.merchant.pk, seat.mode, statuses, type=self.cleaned_data["type"])

    @property
    def is_of_failing(self) -> bool:
        """Whether only deliveries are wanted that failed and will be tried again."""
        return bool(self.cleaned_data["status"] == FAILING_TAB)

    def failing(self, seat: Seat) -> QuerySet[Delivery]:
        """Return the merchant's deliveries that failed and will be tried again, with these filters."""
        kind, found = self.cleaned_data["type"], deliveries_of(seat).filter(FAILING)
        return found.filter(event_type=kind) if kind else found

    def filter(self, found: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Return the deliveries that match, by the id of their checkout, of their event or their own, or its beginning."""
        status, kind, text = (self.cleaned_data[name] for name in ("status", "type", "q"))
        if text.startswith("whd_"):
            found = found.filter(with_id("public_id", text))
        elif text.startswith("evt_"):
            found = found.filter(with_id("event__public_id", text))
        else:
            found = found.filter(with_id("event__subject_id", text))
        if self.is_of_failing:
            found = found.filter(FAILING)
        elif status:
            found = found.filter(status=status)
        return found.filter(event_type=kind) if kind else found


def plain_id(text: str) -> str:
    """Return a searched text if it can be an id; else an empty one."""
    # PostgreSQL has no NUL, and no id has such characters.
    text = text.strip()
    return text if text.isprintable() and len(text) <= LONGEST_SEARCH else ""


def with_id(column: str, text: str) -> Q:
    """Return the condition that an id is a text, or begins with it.

    The range is for the id's index, which has no operators for `LIKE`: another index would slow each event that is written.
    """
    if not _ID_BEGINNING.fullmatch(text):
        return Q((column, text))
    return Q((f"{column}__range", (text, text + _LAST)), (f"{column}__startswith", text))


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A row of the list. `attempts` are the last ones, oldest first."""

    row: Delivery
    attempts: Sequence[Attempt]

    @property
    def badge(self) -> Badge:
        """The badge of the status."""
        return DeliveryStatus(self.row.status).badge

    @property
    def failing_try(self) -> int | None:
        """The number of the next try of a delivery that failed at least once; None for others."""
        is_failing = self.row.status == DeliveryStatus.PENDING and self.row.tries
        return self.row.tries + 1 if is_failing else None

    @property
    def last(self) -> str:
        """The last attempt's result, empty before the first."""
        return result_of(self.attempts[-1]) if self.attempts else ""

    @property
    def next_at(self) -> datetime | None:
        """When it is sent again, if it waits for that."""
        return self.row.next_attempt_at if self.row.status == DeliveryStatus.PENDING else None

    @property
    def is_sample(self) -> bool:
        """Whether it is a test event."""
        return self.row.event.public_id.startswith(SAMPLE_PREFIX)


def deliveries_of(seat: Seat) -> QuerySet[Delivery]:
    """Return a merchant's deliveries of one mode, with their events and endpoints."""
    mine = Delivery.objects.filter(merchant=seat.merchant, mode=seat.mode)
    # A page of bodies would be megabytes, and the list shows none.
    return mine.select_related("event", "endpoint").defer("event__body")


def delivery_page(seat: Seat, filters: DeliveryFilters, query: Mapping[str, str]) -> KeysetPage[Delivery]:
    """Return the page of the list beside the delivery that `before` or `after` of a query string names."""
    if filters.texts["q"]:
        found = filters.filter(deliveries_of(seat)).order_by(*_NEWEST_FIRST)
        return KeysetPage(list(found[:MOST_FOUND]), "", "")
    if filters.is_of_failing:
        moves = {move: query[move] for move in ("before", "after") if move in query}
        return page_by_time([TimedRows(filters.failing(seat), "created_at")], filters.applied() | moves)
    before, after = (_position(seat, query.get(move, "")) for move in ("before", "after"))
    keys = delivery_keys(filters.walk(seat), rows=PAGE_ROWS + 1, before=before, after=after)
    rows = list(deliveries_of(seat).filter(pk__in=keys).order_by(*_NEWEST_FIRST))
    mark, kept = attrgetter("public_id"), filters.applied()
    if after:
        return page_ahead(rows[::-1], kept, mark=mark, rows=PAGE_ROWS)
    return page_behind(rows, kept, mark=mark, rows=PAGE_ROWS, is_first=before is None)


def _position(seat: Seat, public_id: str) -> Position | None:
    rows = deliveries_of(seat).filter(public_id=plain_id(public_id))
    return rows.values_list("created_at", "pk").first()


def delivery_rows(deliveries: Iterable[Delivery]) -> list[DeliveryRow]:
    """Return the rows of deliveries, in their order."""
    deliveries = list(deliveries)
    tries = _tries([delivery.pk for delivery in deliveries])
    return [DeliveryRow(delivery, tries.get(delivery.pk, [])) for delivery in deliveries]


def _tries(keys: Sequence[int]) -> dict[int, list[Attempt]]:
    found: dict[int, list[Attempt]] = {}
    rows = Attempt.objects.filter(delivery__in=keys).order_by("pk")
    for attempt in rows.only("delivery_id", "status_code", "error"):
        found.setdefault(attempt.delivery_id, []).append(attempt)
    return found


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An attempt: `result` is a few words, `trouble` a sentence about the failure or empty.

    `answer` is the beginning of the response's body. It and the headers are as the person may see them.
    """

    row: Attempt
    number: int
    result: str
    trouble: str
    request_headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    answer: str


def attempts_of(delivery: Delivery, seat: Seat) -> list[ShownAttempt]:
    """Return a delivery's newest attempts, latest first."""
    rows = delivery.attempts.order_by("-pk")
    count = rows.count()
    return [_attempt(row, count - index, seat) for index, row in enumerate(rows[:MOST_ATTEMPTS])]


def _attempt(row: Attempt, number: int, seat: Seat) -> ShownAttempt:
    sent, answered = (
        {name: seat.shown(value) for name, value in headers.items()}
        for headers in (row.request_headers, row.response_headers)
    )
    return ShownAttempt(row, number, result_of(row), trouble_of(row), sent, answered, seat.shown(row.response_body))


@seated(get=Act.SEE)
@reads_replica
def deliveries(request: SeatedRequest) -> HttpResponse:
    """List deliveries, newest first."""
    seat, filters = request.seat, DeliveryFilters(request.GET)
    page = delivery_page(seat, filters, request.GET)
    filters.offer("type", [(name, name) for name in event_types(DeliveryWalk(seat.merchant.pk, seat.mode))])
    context = {
        "filters": filters,
        "rows": delivery_rows(page.rows),
        "pager": page,
        "tabs": filters.tabs(seat.url("dashboard_deliveries")),
        "is_cut": bool(filters.texts["q"]) and len(page.rows) >= MOST_FOUND,
    }
    return render(request, "dashboard/webhooks/deliveries.html", context)


@seated(get=Act.SEE)
def delivery(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Show a delivery, its attempts, and the body that is sent."""
    found = _one(request.seat, delivery_id)
    context = _detail(found, request.seat) | {"body": request.seat.shown(indented(bytes(found.event.body).decode()))}
    return render(request, "dashboard/webhooks/delivery.html", context)


@seated(get=Act.SEE)
def live(request: SeatedRequest, *, delivery_id: str) -> HttpResponse:
    """Return what changed on a delivery's page; empty if nothing changed."""
    context = _detail(_one(request.seat, delivery_id), request.seat) | {"is_update": True}
    if request.GET.get("seen") == context["digest"]:
        return HttpResponse(status=204)
    return render(request, "dashboard/webhooks/_live.html", context)


def _detail(found: Delivery, seat: Seat) -> dict[str, object]:
    attempts = attempts_of(found, seat)
    return {
        "shown": delivery_rows([found])[0],
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
        retry(found, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("It is being sent again."))
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
        form.add_error(None, words_of(error))
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
            actor=actor_of(request),
        )
    except ConflictError as error:
        form.add_error(None, words_of(error))
        return _range_page(request, form, status=409)
    said = ngettext("%(number)s delivery is being sent again.", "%(number)s deliveries are being sent again.", count)
    messages.success(request, said % {"number": f"{count:,}"})
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
