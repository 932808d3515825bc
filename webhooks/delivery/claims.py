"""A sender's visits to the database: it claims due deliveries, fairly among endpoints, renews claims and reads what to send.

One sender at a time serves an endpoint.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from accounts.models import Merchant
from gateway.core.secrets import SecretUnreadableError, unseal
from webhooks.endpoints.secrets import ensure_secret, sealed_secrets
from webhooks.health import PROBATION_AFTER
from webhooks.states import Format

log = structlog.get_logger(__name__)

_PROMOTED_AT_ONCE = 1_000
# If PostgreSQL crashes, the leases of its last moment may be lost: until the next renewal another sender may serve the same
# endpoint and repeat deliveries, or one that was released waits for the lease's end. So the sender waits neither for the disk
# nor for a standby. The setting ends with the statement's own transaction.
_WITHOUT_WAITING = "set_config('synchronous_commit', 'off', true)"

_PROMOTE = """
UPDATE webhooks_delivery SET is_due = true
WHERE id IN (
    SELECT id FROM webhooks_delivery
    WHERE status = 'pending' AND NOT is_due AND next_attempt_at <= %(now)s::timestamptz
    ORDER BY next_attempt_at LIMIT %(limit)s::bigint
    FOR UPDATE SKIP LOCKED
)
"""
# Steps from endpoint to endpoint along the index, so that a backlog of any length costs one step. It starts after the
# endpoint taken last; otherwise low ids would always come first.
_DUE_ENDPOINTS = """
WITH RECURSIVE due AS (
    (
        SELECT endpoint_id FROM webhooks_delivery
        WHERE status = 'pending' AND is_due AND endpoint_id > %(after)s::bigint
        ORDER BY endpoint_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT later.endpoint_id FROM webhooks_delivery AS later
        WHERE later.status = 'pending' AND later.is_due AND later.endpoint_id > due.endpoint_id
        ORDER BY later.endpoint_id LIMIT 1
    )
    FROM due WHERE due.endpoint_id IS NOT NULL
)
"""
# Another sender's lease is seen even if committed after this statement began: the row lock rereads the row. Endpoints
# are looked up one by one: a join may return them in any order, which would not be fair.
_FREE_ENDPOINTS = """
SELECT endpoint.id FROM due CROSS JOIN LATERAL (
    SELECT id FROM webhooks_endpoint AS one
    WHERE one.id = due.endpoint_id AND one.disabled_at IS NULL
        AND (one.next_probe_at IS NULL OR one.next_probe_at <= %(now)s::timestamptz)
        AND (one.served_until IS NULL OR one.served_until <= %(now)s::timestamptz)
        AND one.merchant_id <> ALL(%(passed_over)s::bigint[])
    FOR NO KEY UPDATE SKIP LOCKED
) AS endpoint
LIMIT %(limit)s::bigint
"""

_TAKE = f"""
{_DUE_ENDPOINTS}, free AS ({_FREE_ENDPOINTS})
UPDATE webhooks_endpoint AS endpoint
SET served_by = %(sender)s::text, served_until = %(until)s::timestamptz
FROM free WHERE endpoint.id = free.id
RETURNING endpoint.id, endpoint.merchant_id, {_WITHOUT_WAITING}
"""  # noqa: S608 - put together from constants
# Endpoints are always locked in id order: recording locks them at the same time.
_MINE = """
SELECT id FROM webhooks_endpoint
WHERE id = ANY(%(endpoints)s::bigint[]) AND served_by = %(sender)s::text
ORDER BY id FOR NO KEY UPDATE
"""

_RENEW = f"""
UPDATE webhooks_endpoint SET served_until = %(until)s::timestamptz
WHERE id IN ({_MINE}) AND served_until > %(now)s::timestamptz
RETURNING id, disabled_at IS NOT NULL, {_WITHOUT_WAITING}
"""  # noqa: S608 - put together from constants

_RELEASE = f"""
UPDATE webhooks_endpoint SET served_until = NULL, served_by = '' WHERE id IN ({_MINE})
RETURNING {_WITHOUT_WAITING}
"""  # noqa: S608 - put together from constants
# An endpoint on probation gets one probe, its oldest delivery, when it is due and nothing is in flight.
_DUE_DELIVERIES = """
SELECT
    delivery.id, delivery.public_id, delivery.tries, endpoint.id, endpoint.merchant_id, endpoint.url,
    endpoint.consecutive_failures, event.public_id, event.type, event.subject_id, event.body, endpoint.format,
    endpoint.public_id, endpoint.dialect::text,
    CASE WHEN endpoint.format = 'btcpay' THEN ARRAY(
        SELECT later.type FROM webhooks_event AS later
        WHERE later.subject_id = event.subject_id AND later.sequence > event.sequence
    ) END
FROM unnest(%(endpoints)s::bigint[], %(rooms)s::bigint[], %(idle)s::boolean[])
    AS wanted (endpoint_id, room, idle)
JOIN webhooks_endpoint AS endpoint ON endpoint.id = wanted.endpoint_id
CROSS JOIN LATERAL (
    SELECT id, public_id, tries, event_id FROM webhooks_delivery
    WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND is_due
        AND id NOT IN (SELECT unnest(%(held)s::bigint[]))
    ORDER BY id
    LIMIT CASE
        WHEN endpoint.consecutive_failures < %(probation_after)s::integer THEN wanted.room
        WHEN wanted.idle AND coalesce(endpoint.next_probe_at, '-infinity') <= %(now)s::timestamptz THEN 1
        ELSE 0
    END
) AS delivery
JOIN webhooks_event AS event ON event.id = delivery.event_id
WHERE endpoint.disabled_at IS NULL
    AND endpoint.served_by = %(sender)s::text AND endpoint.served_until > %(now)s::timestamptz
ORDER BY delivery.id
"""

# How many deliveries of an endpoint a sender holds: enough that two lanes never wait for the database.
ENDPOINT_ROOM = 100


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this sender may send now, with all data except the secrets."""

    delivery: int
    delivery_id: str
    tries: int
    endpoint: int
    merchant: int
    url: str
    endpoint_failures: int
    event_id: str
    event_type: str
    subject_id: str
    body: bytes
    format: str = Format.FLORIN
    # The public id of a listed endpoint; others have none.
    listed_id: str | None = None
    # JSON text; null for most formats.
    dialect: str | None = None
    # The types of the subject's later events, for the format whose receivers cannot tell the newest; null for others.
    later: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """How many more deliveries of an endpoint its sender wants, and whether any is in flight."""

    count: int
    idle: bool


def promote_due(*, now: datetime) -> int:
    """Mark waiting deliveries that are due; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_PROMOTE, {"now": now, "limit": _PROMOTED_AT_ONCE})
        return int(cursor.rowcount)


def take_endpoints(
    sender: str, *, now: datetime, lease: timedelta, after: int = 0, limit: int = 100, passed_over: Collection[int] = ()
) -> dict[int, int]:
    """Lease endpoints that have due deliveries and no sender; return their ids with their merchants'.

    Looks at endpoint ids above `after`, in order, and passes over the merchants named.
    """
    parameters: dict[str, Any] = {
        "sender": sender,
        "now": now,
        "until": now + lease,
        "after": after,
        "limit": limit,
        "passed_over": list(passed_over),
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, parameters)
        return {endpoint: merchant for endpoint, merchant, _ in cursor}


def renew(sender: str, endpoints: Collection[int], *, now: datetime, lease: timedelta) -> dict[int, bool]:
    """Renew leases; return the endpoints that this sender still holds, and whether each is disabled."""
    parameters: dict[str, Any] = {"sender": sender, "endpoints": list(endpoints), "now": now, "until": now + lease}
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, parameters)
        return {endpoint: is_disabled for endpoint, is_disabled, _ in cursor}


def release(sender: str, endpoints: Collection[int]) -> None:
    """Release endpoints to other senders."""
    parameters: dict[str, Any] = {"sender": sender, "endpoints": list(endpoints)}
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, parameters)


def due_deliveries(sender: str, rooms: Mapping[int, Room], *, held: Sequence[int], now: datetime) -> list[Claimed]:
    """Return due deliveries of endpoints this sender serves, oldest first, without those it holds."""
    parameters: dict[str, Any] = {
        "sender": sender,
        "endpoints": list(rooms),
        "rooms": [room.count for room in rooms.values()],
        "idle": [room.idle for room in rooms.values()],
        "held": list(held),
        "now": now,
        "probation_after": PROBATION_AFTER,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DUE_DELIVERIES, parameters)
        return [Claimed(*columns) for columns in cursor]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a sender asks for in one visit to the database.

    `limit` is how many more endpoints it can serve, `after` is the last endpoint id it looked at, `passed_over` the
    merchants that already have their full share.
    """

    sender: str
    lease: timedelta
    rooms: Mapping[int, Room]
    held: Sequence[int]
    renewed: Collection[int]
    released: Collection[int]
    limit: int
    after: int
    passed_over: Collection[int]


@dataclass(frozen=True, slots=True)
class Work:
    """A delivery to send, with the secrets to sign it with."""

    claimed: Claimed
    secrets: Sequence[str]


@dataclass(frozen=True, slots=True)
class Batch:
    """A visit's result: endpoints now served (with their merchants), lost to others, or found disabled, and work to do.

    `filled` are the endpoints that may have more: those that had as much work as was asked for, and those on probation, which get
    one probe at a time.
    """

    taken: Mapping[int, int]
    lost: Collection[int]
    disabled: Collection[int]
    work: Sequence[Work]
    filled: Collection[int]
    after: int


def claim_batch(demand: Demand, *, now: datetime) -> Batch:
    """Release, renew and take leases, and read the due deliveries. Each step commits separately."""
    if demand.released:
        release(demand.sender, demand.released)
    kept = _renewed(demand, now)
    lost = set(demand.renewed) - kept.keys()
    promote_due(now=now)
    taken = _take(demand, now)
    rooms = {key: room for key, room in demand.rooms.items() if key not in lost}
    rooms |= {endpoint: Room(ENDPOINT_ROOM, idle=True) for endpoint in taken}
    claimed = []
    if rooms:
        claimed = due_deliveries(demand.sender, rooms, held=demand.held, now=now)
    found = Counter(delivery.endpoint for delivery in claimed)
    filled = {key for key, room in rooms.items() if found[key] >= room.count}
    filled |= {delivery.endpoint for delivery in claimed if delivery.endpoint_failures >= PROBATION_AFTER}
    after = max(taken) if len(taken) == demand.limit and taken else 0
    disabled = [endpoint for endpoint, is_disabled in kept.items() if is_disabled]
    return Batch(taken, lost, disabled, _with_secrets(claimed, now), filled, after)


def _renewed(demand: Demand, now: datetime) -> dict[int, bool]:
    return renew(demand.sender, demand.renewed, now=now, lease=demand.lease) if demand.renewed else {}


def _take(demand: Demand, now: datetime) -> dict[int, int]:
    taken: dict[int, int] = {}
    # If the first search began in the middle and found too few, start again from the beginning.
    for after in dict.fromkeys([demand.after, 0]):
        if len(taken) < demand.limit:
            taken |= take_endpoints(
                demand.sender,
                now=now,
                lease=demand.lease,
                after=after,
                limit=demand.limit - len(taken),
                passed_over=demand.passed_over,
            )
    return taken


def _with_secrets(claimed: Iterable[Claimed], now: datetime) -> list[Work]:
    claimed = list(claimed)
    endpoints = {delivery.endpoint: delivery.merchant for delivery in claimed}
    secrets = _secrets(endpoints, now) if endpoints else {}
    return [Work(delivery, secrets[delivery.endpoint]) for delivery in claimed if delivery.endpoint in secrets]


def _secrets(endpoints: Mapping[int, int], now: datetime) -> dict[int, list[str]]:
    sealed = sealed_secrets(endpoints, now=now)
    found = {}
    for endpoint, merchant in endpoints.items():
        try:
            if endpoint in sealed:
                found[endpoint] = [_unsealed(token) for token in sealed[endpoint]]
            else:
                found[endpoint] = [ensure_secret(Merchant.objects.get(pk=merchant), now=now)]
        except (SecretUnreadableError, ImproperlyConfigured) as error:
            # Our fault, not the endpoint's: its deliveries wait until the operator fixes the keys.
            log.error("cannot sign webhooks", merchant=merchant, error=str(error))
    return found


@lru_cache(maxsize=10_000)
def _unsealed(token: bytes) -> str:
    return unseal(token)
