"""Walks a merchant's deliveries by status, type and time, as fast among millions as among a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from accounts.states import Mode
from webhooks.states import DeliveryStatus

# Before and after all deliveries, as PostgreSQL writes times. Keys begin at 1.
_FIRST: Final = ("-infinity", 0)
_LAST: Final = ("infinity", 0)

# Steps along the index from type to type, for each status: there are few of each, however many deliveries.
_KINDS: Final = """
WITH RECURSIVE kind (status, event_type) AS (
    SELECT wanted.status, (
        SELECT min(event_type) FROM webhooks_delivery
        WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND status = wanted.status
    )
    FROM unnest(%(statuses)s::text[]) AS wanted (status)
    UNION ALL
    SELECT kind.status, (
        SELECT min(event_type) FROM webhooks_delivery
        WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND status = kind.status
            AND event_type > kind.event_type
    )
    FROM kind WHERE kind.event_type IS NOT NULL
)
"""

# Each status and type is an ordered range of the index; the first rows of all ranges contain the overall first rows. One
# bound on each side: with two, the index scan would start at one and step over all rows up to the other.
_KEYS: Final = """
{kinds}
SELECT found.id FROM kind
CROSS JOIN LATERAL (
    SELECT id, created_at FROM webhooks_delivery
    WHERE merchant_id = %(merchant)s AND mode = %(mode)s
        AND status = kind.status AND event_type = kind.event_type
        AND (created_at, id) > (%(low)s::timestamptz, %(low_key)s::bigint)
        AND (created_at, id) < (%(high)s::timestamptz, %(high_key)s::bigint)
    ORDER BY created_at {order}, id {order} LIMIT %(rows)s::bigint + %(skipped)s::bigint
) AS found
WHERE kind.event_type = %(type)s OR (%(type)s = '' AND kind.event_type IS NOT NULL)
ORDER BY found.created_at {order}, found.id {order} LIMIT %(rows)s::bigint OFFSET %(skipped)s::bigint
"""
_NEWEST_FIRST: Final = _KEYS.format(kinds=_KINDS, order="DESC")
_OLDEST_FIRST: Final = _KEYS.format(kinds=_KINDS, order="ASC")
_TYPES: Final = f"{_KINDS} SELECT DISTINCT event_type FROM kind WHERE event_type <> '' ORDER BY 1"  # noqa: S608 - put together from constants


@dataclass(frozen=True, slots=True)
class DeliveryWalk:
    """The filters of a walk: merchant, mode, statuses, one type or all, creation time."""

    merchant_id: int
    mode: Mode
    statuses: Sequence[str] = tuple(DeliveryStatus)
    type: str = ""
    since: datetime | None = None
    until: datetime | None = None


Position = tuple[datetime, int]


def delivery_keys(
    walk: DeliveryWalk, *, rows: int, before: Position | None = None, after: Position | None = None, skipped: int = 0
) -> list[int]:
    """Return the keys of at most `rows` deliveries, newest first; with `after` those next to it, oldest first.

    A position is the time and key of a delivery, which is excluded. The first `skipped` are left out, and read: a position is
    faster far down.
    """
    lows = [(walk.since, 0) if walk.since else None, after]
    highs = [(walk.until, 0) if walk.until else None, before]
    low, low_key = max((low for low in lows if low), default=_FIRST)
    high, high_key = min((high for high in highs if high), default=_LAST)
    parameters = _parameters(walk) | {
        "low": low,
        "low_key": low_key,
        "high": high,
        "high_key": high_key,
        "type": walk.type,
        "rows": rows,
        "skipped": skipped,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST_FIRST if after else _NEWEST_FIRST, parameters)
        return [key for (key,) in cursor]


def event_types(walk: DeliveryWalk) -> list[str]:
    """Return the types of event that the merchant's deliveries carry."""
    with connection.cursor() as cursor:
        cursor.execute(_TYPES, _parameters(walk))
        return [name for (name,) in cursor]


def _parameters(walk: DeliveryWalk) -> dict[str, Any]:
    return {"merchant": walk.merchant_id, "mode": str(walk.mode), "statuses": [str(status) for status in walk.statuses]}
