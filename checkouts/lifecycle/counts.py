"""How many checkouts there are of each status, and what each day brought: sums kept by whoever writes what they sum up."""

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from django.db import connection

from checkouts.models import CheckoutCount

# Merchant, mode and status.
CountKey = tuple[int, str, str]

_COUNT = """
    INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, slot, value)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::int[], %s::bigint[])
    ON CONFLICT (merchant_id, mode, status, slot)
    DO UPDATE SET value = checkouts_checkoutcount.value + EXCLUDED.value
"""


_ADD_TO_DAYS = """
    INSERT INTO checkouts_dailytotal AS kept
        (merchant_id, mode, day, chain, token, slot, created, completed, expired, volume, first_id, last_id)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::date[], %s::text[], %s::text[], %s::int[],
                         %s::bigint[], %s::bigint[], %s::bigint[], %s::numeric[], %s::bigint[], %s::bigint[])
    ON CONFLICT (merchant_id, mode, day, chain, token, slot)
    DO UPDATE SET created = kept.created + EXCLUDED.created, completed = kept.completed + EXCLUDED.completed,
                  expired = kept.expired + EXCLUDED.expired, volume = kept.volume + EXCLUDED.volume,
                  first_id = LEAST(kept.first_id, EXCLUDED.first_id),
                  last_id = GREATEST(kept.last_id, EXCLUDED.last_id)
"""


@dataclass(frozen=True, slots=True, order=True)
class DayKey:
    """Whose day it is. `chain` and `token` are empty but for what was paid."""

    merchant_id: int
    mode: str
    day: date
    chain: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class DayChange:
    """What is added to a day; `volume` is USD, `made` the key of a checkout that was created."""

    made: int | None = None
    completed: int = 0
    expired: int = 0
    volume: Decimal = Decimal(0)

    def and_ended(self, other: "DayChange") -> "DayChange":
        """Return both, where neither says what was created."""
        return DayChange(
            completed=self.completed + other.completed,
            expired=self.expired + other.expired,
            volume=self.volume + other.volume,
        )


def day_of(moment: datetime) -> date:
    """Return the day, in UTC, that a moment counts to."""
    return moment.astimezone(UTC).date()


def add_to_days(changes: Mapping[DayKey, DayChange]) -> None:
    """Add to the days, in one order. Whoever changes counts too does that before: all take these locks in one order."""
    rows = sorted(changes.items(), key=lambda row: row[0])
    if not rows:
        return
    slot = secrets.randbelow(CheckoutCount.SLOTS)
    with connection.cursor() as cursor:
        cursor.execute(
            _ADD_TO_DAYS,
            [
                [key.merchant_id for key, _ in rows],
                [str(key.mode) for key, _ in rows],
                [key.day for key, _ in rows],
                [key.chain for key, _ in rows],
                [key.token for key, _ in rows],
                [slot] * len(rows),
                [int(change.made is not None) for _, change in rows],
                [change.completed for _, change in rows],
                [change.expired for _, change in rows],
                [change.volume for _, change in rows],
                [change.made for _, change in rows],
                [change.made for _, change in rows],
            ],
        )


def count(changes: Counter[CountKey]) -> None:
    """Add to the counts, in one order, so that two writers never wait for each other in a circle."""
    rows = sorted((key, change) for key, change in changes.items() if change)
    if not rows:
        return
    slot = secrets.randbelow(CheckoutCount.SLOTS)
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNT,
            [
                [merchant for (merchant, _, _), _ in rows],
                [str(mode) for (_, mode, _), _ in rows],
                [str(status) for (_, _, status), _ in rows],
                [slot] * len(rows),
                [change for _, change in rows],
            ],
        )
