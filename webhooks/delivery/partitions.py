"""Monthly partitions of attempts: created ahead, and dropped once every attempt in them is old.

`webhooks_attempt_rest` is the default partition, for attempts of months without their own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection, transaction

MONTHS_AHEAD: Final = 3
"""How many months of partitions are created ahead: so long the task may fail before attempts go to the default one."""

_LOCK_SECONDS: Final = 2
_PARTITIONS: Final = """
    SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'webhooks_attempt'::regclass AND c.relname <> 'webhooks_attempt_rest'
"""
_UNTIL: Final = re.compile(r"TO \('([^']+)'\)")


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A month's table: its attempts began before `until`, and not before the `until` of the previous partition."""

    until: datetime
    name: str


def partitions() -> list[Partition]:
    """Return the monthly partitions, oldest first, without the default one."""
    with connection.cursor() as cursor:
        # PostgreSQL prints bounds in the session's time zone.
        cursor.execute(_PARTITIONS)
        found = cursor.fetchall()
    return sorted(Partition(_until(bound), name) for name, bound in found)


def _until(bound: str) -> datetime:
    found = _UNTIL.search(bound)
    if found is None:
        raise ValueError(bound)
    return datetime.fromisoformat(found[1]).astimezone(UTC)


def make_partitions(*, now: datetime) -> int:
    """Create the missing partitions of the coming months; return how many."""
    made = 0
    until = partitions()[-1].until
    while until < _months_after(now, MONTHS_AHEAD):
        begins, until = until, _months_after(until, 1)
        _make(begins, until)
        made += 1
    return made


def _make(begins: datetime, until: datetime) -> None:
    """Create a month's partition, and move its attempts there from the default one, where PostgreSQL refuses them.

    Meanwhile other attempts can be written.
    """
    name = f"webhooks_attempt_{begins:%Y_%m}"
    first, end = f"'{begins.isoformat()}'", f"'{until.isoformat()}'"
    month = f"started_at >= {first} AND started_at < {end}"
    move = (
        f"WITH moved AS (DELETE FROM webhooks_attempt_rest WHERE {month} RETURNING *)"  # noqa: S608 - a month's name and ends
        f" INSERT INTO {name} SELECT * FROM moved"
    )
    # With all constraints of a partition, so that attaching the table reads none of its rows. If an earlier run failed on a
    # lock, the table exists, empty.
    _change(
        f"CREATE TABLE IF NOT EXISTS {name} (LIKE webhooks_attempt INCLUDING CONSTRAINTS INCLUDING STORAGE"
        f" INCLUDING INDEXES, CONSTRAINT attempt_of_month CHECK ({month}), CONSTRAINT attempt_has_delivery"
        " FOREIGN KEY (delivery_id) REFERENCES webhooks_delivery (id) DEFERRABLE INITIALLY DEFERRED)"
    )
    _change(
        move,
        "SET CONSTRAINTS ALL IMMEDIATE",
        # In the order in which a sender writes.
        "LOCK TABLE webhooks_delivery IN SHARE ROW EXCLUSIVE MODE",
        "LOCK TABLE webhooks_attempt_rest IN ACCESS EXCLUSIVE MODE",
        # The attempts that were written meanwhile.
        move,
        f"ALTER TABLE webhooks_attempt ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})",
        f"ALTER TABLE {name} DROP CONSTRAINT attempt_of_month",
    )


def drop_partitions(*, before: datetime) -> int:
    """Drop the partitions whose attempts all began before a time, and delete such attempts from the default one.

    Returns how many partitions were dropped. The last one stays.
    """
    dropped = 0
    for partition in _ended(before):
        drop(partition)
        dropped += 1
    _change(
        f"DELETE FROM webhooks_attempt_rest WHERE started_at < '{before.isoformat()}'"  # noqa: S608 - a time
    )
    return dropped


def drop(partition: Partition) -> None:
    """Drop a partition with its attempts."""
    _change(
        # Both later statements lock deliveries. A sender locks deliveries before attempts: in the other order each could wait
        # for the other.
        "LOCK TABLE webhooks_delivery IN ACCESS EXCLUSIVE MODE",
        f"ALTER TABLE webhooks_attempt DETACH PARTITION {partition.name}",
        f"DROP TABLE {partition.name}",
    )


def _ended(before: datetime) -> Iterator[Partition]:
    return (one for one in partitions()[:-1] if one.until <= before)


def _months_after(moment: datetime, months: int) -> datetime:
    """Return the beginning of a month, counted from the one of a moment."""
    count = moment.year * 12 + moment.month - 1 + months
    return datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC)


@transaction.atomic
def _change(*statements: str) -> None:
    with connection.cursor() as cursor:
        # Writers wait behind this statement while it waits for its lock. If it gives up, the next day's run tries again.
        cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
        for statement in statements:
            cursor.execute(statement)


def prune_attempts(*, now: datetime) -> int:
    """Drop partitions of attempts older than WEBHOOK_ATTEMPT_DAYS; return how many. Events and deliveries stay.

    First the partitions of the coming months are created.
    """
    make_partitions(now=now)
    kept = timedelta(days=settings.WEBHOOK_ATTEMPT_DAYS)
    return drop_partitions(before=now - kept)
