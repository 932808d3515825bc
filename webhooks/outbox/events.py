"""Writes events into the outbox."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction

from accounts.states import Mode
from gateway.core import json
from gateway.core.ids import new_id
from gateway.core.times import iso
from webhooks.models import Endpoint, Event

BELL = "florin_webhooks"
# The id prefix of test events: the sender marks their requests, and lists can recognise them.
SAMPLE_PREFIX = "evt_sample"

# A publisher shares this lock of its merchants, and an endpoint that gets another opt-in type takes it alone: a statement that
# looks for takers after it sees each choice that was committed before, and no choice is committed until the publisher has.
_SHARE_CHOICES = """
SELECT pg_advisory_xact_lock_shared(hashtextextended(merchant_id::text, 404))
FROM unnest(%(merchants)b::bigint[]) AS stream (merchant_id)
"""
_HOLD_CHOICES = "SELECT pg_advisory_xact_lock(hashtextextended(%(merchant)s::text, 404))"

_FIND_TAKEN = """
SELECT offered.merchant_id, offered.mode, offered.type
FROM unnest(%(merchants)b::bigint[], %(modes)b::text[], %(types)b::text[]) AS offered (merchant_id, mode, type)
CROSS JOIN LATERAL (
    SELECT FROM webhooks_endpoint
    WHERE merchant_id = offered.merchant_id AND mode = offered.mode AND public_id IS NOT NULL
        AND offered.type = ANY(events) AND NOT is_default
    LIMIT 1
) AS taker
"""

# An upsert that changes nothing creates a missing row and locks it either way. Rows are locked in the SELECT's order, the
# same in all publishers, so publishers never deadlock.
_LOCK_COUNTERS = """
INSERT INTO webhooks_eventcounter AS counter (merchant_id, mode, value)
SELECT merchant_id, mode, 0
FROM unnest(%(merchants)b::bigint[], %(modes)b::text[]) AS stream (merchant_id, mode)
ORDER BY merchant_id, mode
ON CONFLICT (merchant_id, mode) DO UPDATE SET value = counter.value
RETURNING merchant_id, mode, value
"""

_KNOWN_OCCURRENCES = """
SELECT occurrence FROM webhooks_event WHERE occurrence = ANY(%(occurrences)b::text[])
"""

# Bodies go in binary (%b): escaping them as text would cost more than the insert.
_INSERT_EVENTS = """
INSERT INTO webhooks_event
    (public_id, merchant_id, mode, type, subject_id, occurrence, sequence, body, created_at)
SELECT public_id, merchant_id, mode, type, subject_id, occurrence, sequence, body, %(now)s::timestamptz
FROM unnest(
    %(public_ids)b::text[], %(merchants)b::bigint[], %(modes)b::text[], %(types)b::text[], %(subjects)b::text[],
    %(occurrences)b::text[], %(sequences)b::bigint[], %(bodies)b::bytea[]
) AS event (public_id, merchant_id, mode, type, subject_id, occurrence, sequence, body)
RETURNING id, public_id
"""

_ADVANCE_COUNTERS = """
UPDATE webhooks_eventcounter AS counter SET value = stream.value
FROM unnest(%(merchants)b::bigint[], %(modes)b::text[], %(values)b::bigint[])
    AS stream (merchant_id, mode, value)
WHERE counter.merchant_id = stream.merchant_id AND counter.mode = stream.mode
"""

# Events for a disabled endpoint are held, like those that waited when it was disabled. The bell rings in the same statement,
# because the counters are locked meanwhile.
_INSERT_DELIVERIES = f"""
WITH inserted AS (
    INSERT INTO webhooks_delivery (
        public_id, event_id, endpoint_id, status, tries, next_attempt_at, is_due,
        merchant_id, mode, event_type, created_at
    )
    SELECT delivery.public_id, delivery.event_id, delivery.endpoint_id,
        CASE WHEN endpoint.disabled_at IS NULL THEN 'pending' ELSE 'held' END, 0, %(now)s::timestamptz, true,
        endpoint.merchant_id, endpoint.mode, delivery.event_type, %(now)s::timestamptz
    FROM unnest(%(public_ids)b::text[], %(events)b::bigint[], %(endpoints)b::bigint[], %(types)b::text[])
        WITH ORDINALITY AS delivery (public_id, event_id, endpoint_id, event_type, place)
    JOIN webhooks_endpoint AS endpoint ON endpoint.id = delivery.endpoint_id
    ORDER BY delivery.place
)
SELECT pg_notify('{BELL}', '')
"""  # noqa: S608 - only our own constant is put in

# No endpoint has an empty URL: it stands for the default endpoint. Null stands for none: an opt-in event has only those that chose
# its type. No event has an empty type: it stands for a test event, which goes to its URL alone. Listed endpoints come after the
# one that the URL names, which is not found a second time.
_FIND_ENDPOINTS = """
SELECT address.merchant_id, address.mode, address.url, address.type, found.id, found.is_named
FROM unnest(%(merchants)b::bigint[], %(modes)b::text[], %(urls)b::text[], %(types)b::text[])
    AS address (merchant_id, mode, url, type)
CROSS JOIN LATERAL (
    SELECT id, true FROM webhooks_endpoint
    WHERE merchant_id = address.merchant_id AND mode = address.mode
        AND md5(url) = md5(address.url) AND url = address.url
    UNION ALL
    SELECT id, true FROM webhooks_endpoint
    WHERE merchant_id = address.merchant_id AND mode = address.mode AND address.url = '' AND is_default
    UNION ALL
    SELECT id, false FROM webhooks_endpoint
    WHERE merchant_id = address.merchant_id AND mode = address.mode AND public_id IS NOT NULL
        AND address.type <> ''
        AND (address.type = ANY(events) OR events IS NULL AND address.url IS NOT NULL)
        AND url IS DISTINCT FROM address.url AND NOT is_default
) AS found (id, is_named)
ORDER BY found.is_named DESC, found.id
"""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to publish to a merchant.

    `occurrence` identifies it uniquely. `data` is the subject as ready JSON. `url` is its destination: empty for the
    merchant's default endpoint, None for listed endpoints that chose its type alone. A sample has `livemode` false, in live mode
    too. With `body`, those bytes are sent, without an envelope and `data`. `mode` may be `webhooks.states.NOTES`.
    """

    merchant_id: int
    mode: Mode | str
    type: str
    subject_id: str
    occurrence: str
    data: bytes
    url: str | None = ""
    is_sample: bool = False
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class OptInEvent:
    """An event of one of WEBHOOK_OPT_IN_TYPES: written only if a listed endpoint chose the type, and sent to such endpoints alone.

    `occurrence` identifies it uniquely. `read` returns its subject, an object; it is not called if nobody chose. `checkout_id` finds
    the envelope's `checkout_id` in it, which is its `id` by default.
    """

    merchant_id: int
    mode: Mode
    type: str
    occurrence: str
    read: Callable[[], Mapping[str, Any]]
    checkout_id: Callable[[Mapping[str, Any]], str] = itemgetter("id")

    @property
    def offer(self) -> "Offer":
        """Return what an endpoint can choose."""
        return self.merchant_id, str(self.mode), self.type

    def written(self) -> NewEvent:
        """Return the event with its subject."""
        subject = self.read()
        return NewEvent(
            merchant_id=self.merchant_id,
            mode=self.mode,
            type=self.type,
            subject_id=self.checkout_id(subject),
            occurrence=self.occurrence,
            data=json.dumps(subject),
            url=None,
        )


Stream = tuple[int, str]

Offer = tuple[int, str, str]
"""Merchant, mode and opt-in type."""


def publish(events: Sequence[NewEvent | OptInEvent], *, now: datetime) -> list[Event]:
    """Write events and their deliveries in the caller's transaction; return the new ones.

    Call it once, and last in the transaction: it locks the event counters of the merchants, so that sequence numbers have no gaps
    and commit in their order. A repeated occurrence is skipped and takes no number.

    An opt-in event reaches each endpoint that chose its type before the caller's transaction commits.
    """
    wanted = _wanted(events)
    if not wanted:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        last = _lock_counters((event.merchant_id, str(event.mode)) for event in wanted)
        rows = _numbered(_unknown(wanted), last, now)
        if not rows:
            return []
        cursor.execute(_INSERT_EVENTS, _event_columns(rows) | {"now": now})
        keys = {public_id: key for key, public_id in cursor}
        for row, _ in rows:
            row.pk = keys[row.public_id]
        cursor.execute(_ADVANCE_COUNTERS, _stream_columns(last) | {"values": list(last.values())})
        _insert_deliveries(rows, now)
    return [row for row, _ in rows]


def lock_stream(merchant_id: int, mode: str) -> None:
    """Lock a merchant's event counter of a mode until the caller's transaction ends.

    Events published before are visible afterwards; later ones see what the caller's transaction changed.
    """
    _lock_counters([(merchant_id, mode)])


def lock_choices(merchant_id: int) -> None:
    """Lock the merchant's choices of opt-in types until the caller's transaction ends. Lock event counters afterwards only.

    Transactions that found no endpoint for such an event have ended then, and later ones see what the caller's transaction chose.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_CHOICES, {"merchant": merchant_id})


def _wanted(events: Sequence[NewEvent | OptInEvent]) -> list[NewEvent]:
    """Return the events to write: of the opt-in ones those that an endpoint chose, read."""
    offers = {event.offer for event in events if isinstance(event, OptInEvent)}
    taken = _taken(sorted(offers)) if offers else set()
    return [
        event if isinstance(event, NewEvent) else event.written()
        for event in events
        if isinstance(event, NewEvent) or event.offer in taken
    ]


def _taken(offers: Sequence[Offer]) -> set[Offer]:
    """Return the offers that a listed endpoint chose, and let nobody choose another before the caller's transaction ends."""
    columns = _stream_columns((merchant, mode) for merchant, mode, _ in offers)
    with connection.cursor() as cursor:
        # In one order in all publishers: one that waits would let others with the same lock pass otherwise.
        cursor.execute(_SHARE_CHOICES, {"merchants": list(dict.fromkeys(columns["merchants"]))})
        cursor.execute(_FIND_TAKEN, columns | {"types": [name for *_, name in offers]})
        return {(merchant, mode, name) for merchant, mode, name in cursor}


def _lock_counters(streams: Iterable[Stream]) -> dict[Stream, int]:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_COUNTERS, _stream_columns(dict.fromkeys(streams)))
        return {(merchant_id, mode): value for merchant_id, mode, value in cursor}


def _stream_columns(streams: Iterable[Stream]) -> dict[str, Any]:
    keys = list(streams)
    return {"merchants": [merchant_id for merchant_id, _ in keys], "modes": [mode for _, mode in keys]}


def _unknown(events: Sequence[NewEvent]) -> list[NewEvent]:
    once: dict[str, NewEvent] = {}
    for event in events:
        once.setdefault(event.occurrence, event)
    # Queried after the lock: a concurrent publisher of the same occurrence has committed by now and is visible.
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN_OCCURRENCES, {"occurrences": list(once)})
        for (occurrence,) in cursor:
            del once[occurrence]
    return list(once.values())


def _numbered(events: Iterable[NewEvent], last: dict[Stream, int], now: datetime) -> list[tuple[Event, NewEvent]]:
    rows = []
    for event in events:
        stream = (event.merchant_id, str(event.mode))
        last[stream] += 1
        row = Event(
            public_id=new_id(SAMPLE_PREFIX if event.is_sample else "evt"),
            merchant_id=event.merchant_id,
            mode=event.mode,
            type=event.type,
            subject_id=event.subject_id,
            occurrence=event.occurrence,
            sequence=last[stream],
            created_at=now,
        )
        row.body = _body(row, event)
        rows.append((row, event))
    return rows


def _body(event: Event, news: NewEvent) -> bytes:
    """Return the bytes that every attempt of every delivery sends."""
    if news.body is not None:
        return news.body
    return json.dumps(
        {
            "id": event.public_id,
            "type": event.type,
            "created_at": iso(event.created_at),
            "api_version": settings.SERVICE_VERSION,
            "livemode": event.mode == Mode.LIVE and not news.is_sample,
            "checkout_id": event.subject_id,
            "sequence": event.sequence,
            "data": orjson.Fragment(news.data),
        }
    )


def _event_columns(rows: Sequence[tuple[Event, NewEvent]]) -> dict[str, Any]:
    events = [event for event, _ in rows]
    return {
        "public_ids": [event.public_id for event in events],
        "merchants": [event.merchant_id for event in events],
        "modes": [str(event.mode) for event in events],
        "types": [event.type for event in events],
        "subjects": [event.subject_id for event in events],
        "occurrences": [event.occurrence for event in events],
        "sequences": [event.sequence for event in events],
        "bodies": [event.body for event in events],
    }


def _insert_deliveries(rows: Sequence[tuple[Event, NewEvent]], now: datetime) -> None:
    endpoints = _endpoints([event for _, event in rows], now)
    wanted = [(row, endpoint) for row, event in rows for endpoint in endpoints.get(_address(event), ())]
    if wanted:
        with connection.cursor() as cursor:
            columns: dict[str, Any] = {
                "public_ids": [new_id("whd") for _ in wanted],
                "events": [row.pk for row, _ in wanted],
                "endpoints": [endpoint for _, endpoint in wanted],
                "types": [row.type for row, _ in wanted],
            }
            cursor.execute(_INSERT_DELIVERIES, columns | {"now": now})


Address = tuple[int, str, str | None, str]
"""Merchant, mode, URL (empty for the default endpoint, None for an opt-in event), and type, which is "" for a test event."""


def _address(event: NewEvent) -> Address:
    return event.merchant_id, str(event.mode), event.url, "" if event.is_sample else event.type


def _endpoints(events: Sequence[NewEvent], now: datetime) -> dict[Address, list[int]]:
    """Return the endpoints of each address: the one that its URL names, and listed ones. New URLs get one."""
    addresses = {_address(event) for event in events}
    known, named = _known_endpoints(addresses)
    urls = {(merchant, mode, url) for merchant, mode, url, _ in addresses - named if url}
    if urls:
        Endpoint.objects.bulk_create(
            [
                Endpoint(merchant_id=merchant, mode=mode, url=url, created_at=now)
                for merchant, mode, url in sorted(urls)
            ],
            ignore_conflicts=True,
        )
        known |= _known_endpoints(key for key in addresses - named if key[2])[0]
    return known


def _known_endpoints(addresses: Iterable[Address]) -> tuple[dict[Address, list[int]], set[Address]]:
    """Return the endpoints of each address, and the addresses whose own endpoint is among them."""
    keys = list(addresses)
    columns = _stream_columns((merchant, mode) for merchant, mode, *_ in keys)
    found: dict[Address, list[int]] = {}
    named = set()
    with connection.cursor() as cursor:
        cursor.execute(_FIND_ENDPOINTS, columns | {"urls": [key[2] for key in keys], "types": [key[3] for key in keys]})
        for *key, endpoint, is_named in cursor:
            address: Address = tuple(key)
            found.setdefault(address, []).append(endpoint)
            if is_named:
                named.add(address)
    return found, named
