"""Queries of the outbox, and of endpoints that do not take their events."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page, parse_text
from gateway.core.api.scopes import Scope
from gateway.core.restores import Restore
from webhooks.health import SWITCHED_OFF
from webhooks.models import LISTED, TROUBLED, Delivery, Endpoint, Event, EventCounter
from webhooks.states import NOTES, DeliveryStatus, EndpointHealth

MOST_COUNTED: Final = 100
"""Counting endpoints stops here: beyond it an exact number is not needed."""

UNFINISHED: Final = (DeliveryStatus.PENDING, DeliveryStatus.HELD)
"""The states of deliveries that wait."""

OPENED_BY: Final[Mapping[str, Scope]] = {
    "inbox": Scope.INBOX_READ,
    "refund": Scope.PAYOUTS_READ,
    "payout": Scope.PAYOUTS_READ,
}
"""The scope that opens the subject of an event, by the first part of its type. `events:read` alone opens the others."""

_MAX_SEQUENCE = 2**63 - 1
# Fewer would describe the endpoint of one merchant.
_FEWEST: Final = 20
# The newest rows by key, so that the statement costs the same however many there are.
_USUAL: Final = """
    SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - created_at))
    FROM (
        SELECT status, mode, created_at, finished_at FROM webhooks_delivery ORDER BY id DESC LIMIT 500
    ) newest
    WHERE status = 'delivered' AND mode = 'live' AND created_at >= %(since)s::timestamptz
"""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The filters of a list of events. With `after` the list runs forward, oldest first. Types in `closed` are left out."""

    merchant_id: int
    mode: Mode
    after: int | None
    type: str | None
    checkout_id: str | None
    closed: Sequence[str] = ()


def closed_types(scopes: Collection[str]) -> Sequence[str]:
    """Return the types of events of which a key with these scopes may not read the subject elsewhere."""
    return [name for name in settings.WEBHOOK_EVENT_TYPES if lacking_scope(scopes, [name])]


def lacking_scope(scopes: Collection[str], types: Iterable[str]) -> Scope | None:
    """Return the first scope that these types of events ask for and that a key with `scopes` lacks; None if it lacks none."""
    needed = (OPENED_BY.get(name.partition(".")[0]) for name in sorted(types))
    return next((scope for scope in needed if scope is not None and scope not in scopes), None)


def parse_filter(
    merchant_id: int, mode: Mode, query: Mapping[str, str], *, closed: Sequence[str] = ()
) -> tuple[EventFilter, Page]:
    """Read a list's query string; `closed` are types that its reader may not see. Raises InvalidRequestError."""
    wanted = EventFilter(
        merchant_id=merchant_id,
        mode=mode,
        closed=closed,
        after=_sequence(query.get("after")),
        type=_type(query),
        checkout_id=parse_text(query, "checkout_id"),
    )
    return wanted, parse_page(query)


def event_bodies(wanted: EventFilter, page: Page) -> list[bytes]:
    """Return the bodies of a page of events, as sent. Raises InvalidRequestError."""
    events = _events(wanted)
    offset = page.offset
    if page.starting_after is not None:
        seen = _sequence_of(wanted, page.starting_after)
        bound = "sequence__lt" if wanted.after is None else "sequence__gt"
        events, offset = events.filter(**{bound: seen}), 0
    elif offset and _is_counted(wanted) and not _left_out(wanted).exists():
        events, offset = _skip(events, wanted, offset), 0
    order = "-sequence" if wanted.after is None else "sequence"
    bodies = events.order_by(order).values_list("body", flat=True)
    return [bytes(body) for body in bodies[offset : offset + page.limit]]


def event_body(merchant_id: int, mode: Mode, public_id: str, *, closed: Sequence[str] = ()) -> bytes:
    """Return the body of one event, as sent.

    Raises NotFoundError, also for another merchant's, the other mode's, or one of a `closed` type.
    """
    rows = Event.objects.filter(merchant=merchant_id, mode=mode, public_id=public_id)
    body = rows.exclude(type__in=closed).values_list("body", flat=True).first()
    if body is None:
        raise NotFoundError("There is no such event here.", param="event_id")
    return bytes(body)


def event_total(wanted: EventFilter) -> int:
    """Return how many events match the filter."""
    if _is_counted(wanted):
        # What is left out is few: it is written only while an endpoint chose it.
        return max(_last_sequence(wanted) - (wanted.after or 0) - _left_out(wanted).count(), 0)
    return _events(wanted).count()


def _events(wanted: EventFilter) -> QuerySet[Event]:
    # Answered at once: else all events of a rare type would be read to leave each of them out.
    if wanted.type is not None and wanted.type in wanted.closed:
        return Event.objects.none()
    events = _all(wanted)
    if wanted.closed:
        events = events.exclude(type__in=wanted.closed)
    if wanted.type is not None:
        events = events.filter(type=wanted.type)
    if wanted.checkout_id is not None:
        events = events.filter(subject_id=wanted.checkout_id)
    return events


def _all(wanted: EventFilter) -> QuerySet[Event]:
    """Return a merchant's events of a mode, of each type, from `after` on."""
    events = Event.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    return events if wanted.after is None else events.filter(sequence__gt=wanted.after)


def _left_out(wanted: EventFilter) -> QuerySet[Event]:
    """Return the events that a list leaves out because its reader may not see their types."""
    return _all(wanted).filter(type__in=wanted.closed) if wanted.closed else Event.objects.none()


def _is_counted(wanted: EventFilter) -> bool:
    """Return whether there is an event for each number: the list asks for all, and no restore skipped any."""
    return wanted.type is None and wanted.checkout_id is None and not Restore.objects.exists()


def _skip(events: QuerySet[Event], wanted: EventFilter, offset: int) -> QuerySet[Event]:
    """Skip the first `offset` of a list whose numbers have no gaps. No row is read for it."""
    if wanted.after is not None:
        return events.filter(sequence__gt=min(wanted.after + offset, _MAX_SEQUENCE))
    return events.filter(sequence__lte=_last_sequence(wanted) - offset)


def _last_sequence(wanted: EventFilter) -> int:
    counter = EventCounter.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    return counter.values_list("value", flat=True).first() or 0


def _type(query: Mapping[str, str]) -> str | None:
    name = parse_text(query, "type")
    if name is not None and name not in settings.WEBHOOK_EVENT_TYPES:
        known = ", ".join(settings.WEBHOOK_EVENT_TYPES)
        raise InvalidRequestError(f"type must be one of {known}.", param="type")
    return name


def _sequence(text: str | None) -> int | None:
    if not text:
        return None
    digits = text if text.isascii() and text.isdigit() and len(text) <= 19 else ""
    if not digits or int(digits) > _MAX_SEQUENCE:
        raise InvalidRequestError("after must be the sequence of an event, or 0.", param="after")
    return int(digits)


def _sequence_of(wanted: EventFilter, public_id: str) -> int:
    event = Event.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode, public_id=public_id)
    sequence = event.exclude(type__in=wanted.closed).values_list("sequence", flat=True).first()
    if sequence is None:
        raise InvalidRequestError("starting_after names no event of yours.", param="starting_after")
    return sequence


def usual_delivery_seconds(*, now: datetime) -> float | None:
    """Return the median time from an event to its 2xx answer in the last hour; None after few webhooks."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, {"since": now - timedelta(hours=1)})
        count, seconds = cursor.fetchone()
    return round(float(seconds), 1) if count >= _FEWEST else None


def troubled_endpoints(merchant_id: int, mode: Mode) -> QuerySet[Endpoint]:
    """Return a merchant's endpoints that are disabled or on probation and still matter.

    A former default with nothing waiting does not matter.
    """
    waiting = Delivery.objects.filter(endpoint=OuterRef("pk"), status__in=UNFINISHED)
    matters = LISTED | Q(is_default=True) | Exists(waiting)
    return Endpoint.objects.filter(TROUBLED, matters, merchant=merchant_id, mode=mode)


def troubled_everywhere() -> QuerySet[Endpoint]:
    """Return all merchants' lasting endpoints that are on probation, or were disabled for their failures; none of people's devices and chats."""
    lasting = Endpoint.objects.filter(TROUBLED, LISTED | Q(is_default=True)).exclude(mode=NOTES)
    return lasting.filter(Q(disabled_at=None) | Q(disabled_reason__in=SWITCHED_OFF))


def failing(endpoints: QuerySet[Endpoint]) -> tuple[int, datetime | None]:
    """Return how many of troubled endpoints are on probation, MOST_COUNTED at most, and since when the first one fails."""
    return _counted(endpoints.filter(disabled_at=None), "failing_since")


def switched_off(endpoints: QuerySet[Endpoint]) -> tuple[int, datetime | None]:
    """Return how many of troubled endpoints are disabled, MOST_COUNTED at most, and since when the first one is."""
    return _counted(endpoints.exclude(disabled_at=None), "disabled_at")


def _counted(endpoints: QuerySet[Endpoint], field: str) -> tuple[int, datetime | None]:
    since = endpoints.order_by(F(field).asc(nulls_last=True)).values_list(field, flat=True)[:1]
    # A row with no time in the field is one row all the same.
    first = list(since)
    return (endpoints.order_by()[:MOST_COUNTED].count(), first[0]) if first else (0, None)


class Unheard(NamedTuple):
    """Why no server of a merchant took an event yet: the endpoint that it waits for fails, or `is_off`, since a time."""

    is_off: bool
    since: datetime | None


def unheard(subject_id: str, event_type: str) -> Unheard | None:
    """Return why no endpoint took a subject's events of a type; None if one did, or if they wait for none that fails.

    An endpoint that its merchant disabled says nothing: that was a decision.
    """
    rows = Delivery.objects.filter(event__subject_id=subject_id, event__type=event_type).select_related("endpoint")
    deliveries = list(rows.order_by("pk")[:MOST_COUNTED])
    if any(one.status == DeliveryStatus.DELIVERED for one in deliveries):
        return None
    waiting = [one.endpoint for one in deliveries if one.status in UNFINISHED]
    tried = [one for one in waiting if one.health == EndpointHealth.PROBATION]
    if tried:
        return Unheard(is_off=False, since=min((one.failing_since for one in tried if one.failing_since), default=None))
    ended = [one.disabled_at for one in waiting if one.disabled_at and one.disabled_reason in SWITCHED_OFF]
    return Unheard(is_off=True, since=min(ended)) if ended else None
