"""The merchant's pages of events: what happened, whether or not an endpoint was told, and to which each was sent."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import keyset_page
from gateway.core.json import indented
from gateway.core.postgres.replica import reads_replica
from gateway.core.web.badges import Badge
from gateway.core.web.lists import FilterChoice, FilterForm, Options, SearchText
from webhooks.dashboard.deliveries import LONGEST_SEARCH, deliveries_of, delivery_rows, plain_id, with_id
from webhooks.models import Delivery, Event
from webhooks.outbox.events import SAMPLE_PREFIX
from webhooks.states import DeliveryStatus


def _types() -> Options:
    return [(name, name) for name in settings.WEBHOOK_EVENT_TYPES]


class EventFilters(FilterForm[Event]):
    """The filters of the list: a type, and the id of an event or of what it is about, or its beginning."""

    q = SearchText(_("Checkout, payment or event id"), longest=LONGEST_SEARCH)
    type = FilterChoice(_("Event"), _types, everything=_("All"))

    def clean_q(self) -> str:
        """Return the text if it can be an id."""
        return plain_id(self.cleaned_data["q"])

    def filter(self, found: QuerySet[Event]) -> QuerySet[Event]:
        """Return the events that match."""
        text, kind = self.cleaned_data["q"], self.cleaned_data["type"]
        if text.startswith("evt_"):
            found = found.filter(with_id("public_id", text))
        elif text:
            found = found.filter(with_id("subject_id", text))
        return found.filter(type=kind) if kind else found


@seated(get=Act.SEE)
@reads_replica
def events(request: SeatedRequest) -> HttpResponse:
    """List events, newest first, with the statuses of their deliveries."""
    filters = EventFilters(request.GET)
    query = {name: value for name, value in request.GET.dict().items() if value}
    page = keyset_page(filters.filter(_events_of(request.seat).defer("body")), query, by="sequence")
    told = _statuses(request.seat, page.rows)
    rows = [(event, event.public_id.startswith(SAMPLE_PREFIX), told.get(event.pk, [])) for event in page.rows]
    return render(request, "dashboard/webhooks/events.html", {"filters": filters, "rows": rows, "pager": page})


@seated(get=Act.SEE)
def event(request: SeatedRequest, *, event_id: str) -> HttpResponse:
    """Show an event, its body, and its deliveries."""
    found = _events_of(request.seat).filter(public_id=event_id).first()
    if found is None:
        raise Http404
    deliveries = deliveries_of(request.seat).filter(event=found).order_by("pk")
    context = {
        "event": found,
        "is_sample": found.public_id.startswith(SAMPLE_PREFIX),
        "rows": delivery_rows(deliveries),
        "body": request.seat.shown(indented(bytes(found.body).decode())),
    }
    return render(request, "dashboard/webhooks/event.html", context)


def _events_of(seat: Seat) -> QuerySet[Event]:
    return Event.objects.filter(merchant=seat.merchant, mode=seat.mode)


def _statuses(seat: Seat, found: Iterable[Event]) -> dict[int, list[Badge]]:
    """Return the badges of each event's deliveries, in one query."""
    told: dict[int, list[Badge]] = {}
    rows = Delivery.objects.filter(event__in=[event.pk for event in found], merchant=seat.merchant).order_by("pk")
    for event_pk, status in rows.values_list("event", "status"):
        told.setdefault(event_pk, []).append(DeliveryStatus(status).badge)
    return told
