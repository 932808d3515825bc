"""Leases: a row that one process at a time works under, with a fence and an end time.

A paused process cannot know that its lease ran out. So writes that must not happen twice check the fence first, in the same
transaction. Lease times are the database's, the one clock that all processes share. Nothing outlives its transaction in a
session, so a connection pooler works.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import connection, models
from django.db.models import QuerySet

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LeaseLostError(Exception):
    """Another process holds the lease now; nothing of ours was written."""


class Leased(models.Model):
    """A row that can be leased. The fence grows with every new holder, so a holder that lost its lease can do no harm."""

    owner = models.CharField(max_length=80, blank=True)
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(default=EPOCH)

    class Meta:
        abstract = True


class Lease(Leased):
    """A lease on a name, such as a task's."""

    name = models.CharField(max_length=80, primary_key=True)

    class Meta:
        app_label = "gateway"

    def __str__(self) -> str:
        return self.name


# The row is locked first, so that the lease begins once nobody is waited for any more.
_TAKE = """
    WITH held AS MATERIALIZED (
        SELECT {key} FROM {table}
        WHERE {key} = %(key)s AND (owner = %(owner)s OR lease_until < clock_timestamp())
        FOR NO KEY UPDATE
    )
    UPDATE {table} leased
    SET owner = %(owner)s, fence = leased.fence + (leased.owner <> %(owner)s)::int,
        lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    FROM held WHERE leased.{key} = held.{key}
    RETURNING leased.*
"""
_FIND = """
    SELECT * FROM {table} WHERE {key} = %(key)s AND owner = %(owner)s AND lease_until > clock_timestamp()
    FOR UPDATE
"""
_CHECK = """
    SELECT FROM {table} WHERE {key} = %(key)s AND owner = %(owner)s AND fence = %(fence)s FOR UPDATE
"""
_RELEASE = """
    UPDATE {table} SET owner = '', lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE {key} = %(key)s AND owner = %(owner)s
"""
Row = TypeVar("Row", bound=Leased)


class Leases(Generic[Row]):
    """Leases on the rows of one table, by primary key."""

    def __init__(self, model: type[Row]) -> None:
        meta = model._meta  # noqa: SLF001 - Django documents it
        self._rows: QuerySet[Row] = QuerySet(model)
        names = {"table": meta.db_table, "key": meta.pk.column}
        self._take, self._find, self._check, self._release = (
            statement.format(**names) for statement in (_TAKE, _FIND, _CHECK, _RELEASE)
        )

    def take(self, key: str, owner: str, *, seconds: float) -> Row | None:
        """Take or extend our lease and return its row, created if missing; None while another process holds it."""
        wanted = {"key": key, "owner": owner, "seconds": seconds}
        row = self._first(self._take, wanted)
        if row is None and self._rows.get_or_create(pk=key)[1]:
            row = self._first(self._take, wanted)
        return row

    def find(self, key: str, owner: str) -> Row | None:
        """Lock a row for the caller's transaction and return it; None if `owner` does not have its lease."""
        return self._first(self._find, {"key": key, "owner": owner})

    def check(self, row: Row) -> None:
        """Lock a leased row and check that its fence is unchanged. Raises LeaseLostError."""
        mine = {"key": row.pk, "owner": row.owner, "fence": row.fence}
        if not _run(self._check, mine):
            raise LeaseLostError(row.pk)

    def release(self, key: str, owner: str, *, seconds: float = 0.0) -> None:
        """End our lease, at once or in `seconds`."""
        _run(self._release, {"key": key, "owner": owner, "seconds": seconds})

    def _first(self, statement: str, parameters: dict[str, Any]) -> Row | None:
        return next(iter(self._rows.raw(statement, parameters)), None)


def _run(statement: str, parameters: dict[str, Any]) -> int:
    """Run a statement; return the number of rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


leases = Leases(Lease)


@contextmanager
def alone(name: str, *, seconds: float) -> Iterator[bool]:
    """Yield whether this process got the named lease, for at most `seconds`. If it dies in the block, others wait that long."""
    owner = secrets.token_hex(8)
    is_ours = leases.take(name, owner, seconds=seconds) is not None
    try:
        yield is_ours
    finally:
        if is_ours:
            leases.release(name, owner)
