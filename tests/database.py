"""An installation's database, as a test looks at it: rows, and what its processes are doing there."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from django.db import connection

# The second is set where the tests go through PgBouncer: LISTEN needs a session of its own.
_NAMES: Final = ("DATABASE_URL", "DATABASE_DIRECT_URL")


def own_database() -> dict[str, str]:
    """Return the variables that name this test's database, for a process that the test starts."""
    path = f"/{connection.settings_dict['NAME']}"
    return {name: urlsplit(os.environ[name])._replace(path=path).geturl() for name in _NAMES if name in os.environ}


class Database:
    """The database at a URL. Processes are known by their name, which they give as `application_name`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: psycopg.Connection[Any] | None = None

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What a statement returns. Raises psycopg.OperationalError while the server is away."""
        try:
            cursor = self.connection.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.OperationalError:
            self.close()
            raise

    def value(self, sql: str, *parameters: Any) -> Any:
        """The first column of the first row, None without one."""
        rows = self.rows(sql, *parameters)
        return rows[0][0] if rows else None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The test's own connection, in autocommit."""
        if self._connection is None:
            self._connection = psycopg.connect(self.url, autocommit=True)
        return self._connection

    def close(self) -> None:
        """Close the test's own connection; the next question opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def holding_up_writes(self, table: str) -> AbstractContextManager[None]:
        """Let nobody write to a table, so that their transactions stay open in the middle."""
        return self._locking(table, "SHARE")

    def holding_up_reads(self, table: str) -> AbstractContextManager[None]:
        """Let nobody read a table, or write to it."""
        return self._locking(table, "ACCESS EXCLUSIVE")

    @contextmanager
    def _locking(self, table: str, mode: str) -> Iterator[None]:
        holder = psycopg.connect(self.url, application_name="holder")
        try:
            # As long as the test takes, and not what the role allows its processes.
            holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            holder.execute(f"LOCK TABLE {table} IN {mode} MODE")
            yield
        finally:
            # The server may be gone by now; closing ends the transaction all the same.
            holder.close()

    def is_held_up(self, name: str) -> bool:
        """Whether a process waits for a lock in the database."""
        return self.held_up(name) > 0

    def held_up(self, name: str) -> int:
        """How many of a process's connections wait for a lock."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
        return int(self.value(waiting, name))

    def is_in_transaction(self, name: str) -> bool:
        """Whether a transaction waits for what a process does next."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'idle in transaction'"
        return bool(self.value(waiting, name))

    def now(self) -> str:
        """The database's time."""
        now: str = self.value("SELECT clock_timestamp()::text")
        return now

    def has_asked_since(self, name: str, moment: str) -> bool:
        """Whether every connection of a process, but one that listens, asked the database something since then."""
        [(last,)] = self.rows(
            "SELECT min(query_start) > %s::timestamptz FROM pg_stat_activity"
            " WHERE application_name = %s AND query NOT LIKE 'LISTEN %%'",
            moment,
            name,
        )
        return bool(last)
