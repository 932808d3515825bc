"""Queries of the outbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page, parse_text
from gateway.core.restores import Restore
from webhooks.models import Event, EventCounter

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
    """The filters of a list of events. With `after` the list runs forward, oldest first."""

    merchant_id: int
    mode: Mode
    after: int | None
    type: str | None
    checkout_id: str | None


def parse_filter(merchant_id: int, mode: Mode, query: Mapping[str, str]) -> tuple[EventFilter, Page]:
    """Read a list's query string. Raises InvalidRequestError."""
    wanted = EventFilter(
        merchant_id=merchant_id,
        mode=mode,
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
    elif offset and _is_counted(wanted):
        events, offset = _skip(events, wanted, offset), 0
    order = "-sequence" if wanted.after is None else "sequence"
    bodies = events.order_by(order).values_list("body", flat=True)
    return [bytes(body) for body in bodies[offset : offset + page.limit]]


def event_body(merchant_id: int, mode: Mode, public_id: str) -> bytes:
    """Return the body of one event, as sent. Raises NotFoundError, also for another merchant's or the other mode's."""
    rows = Event.objects.filter(merchant=merchant_id, mode=mode, public_id=public_id)
    body = rows.values_list("body", flat=True).first()
    if body is None:
        raise NotFoundError("There is no such event here.", param="event_id")
    return bytes(body)


def event_total(wanted: EventFilter) -> int:
    """Return how many events match the filter."""
    if _is_counted(wanted):
        return max(_last_sequence(wanted) - (wanted.after or 0), 0)
    return _events(wanted).count()


def _events(wanted: EventFilter) -> QuerySet[Event]:
    events = Event.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    if wanted.after is not None:
        events = events.filter(sequence__gt=wanted.after)
    if wanted.type is not None:
        events = events.filter(type=wanted.type)
    if wanted.checkout_id is not None:
        events = events.filter(subject_id=wanted.checkout_id)
    return events


def _is_counted(wanted: EventFilter) -> bool:
    """Return whether a list has an event for each number: it leaves none out, and no restore skipped any."""
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
    sequence = event.values_list("sequence", flat=True).first()
    if sequence is None:
        raise InvalidRequestError("starting_after names no event of yours.", param="starting_after")
    return sequence


def usual_delivery_seconds(*, now: datetime) -> float | None:
    """Return the median time from an event to its 2xx answer in the last hour; None after few webhooks."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, {"since": now - timedelta(hours=1)})
        count, seconds = cursor.fetchone()
    return round(float(seconds), 1) if count >= _FEWEST else None
