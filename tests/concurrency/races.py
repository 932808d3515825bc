"""Threads with connections of their own, brought to the points where they meet by locks and barriers, never by sleeping."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection

from tests.waiting import PATIENCE_SECONDS, wait_until

T = TypeVar("T")
SECONDS = PATIENCE_SECONDS


class Crew:
    """Threads that each use their own connection; the pool joins them, and closes the connections, at the end."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def start(self, work: Callable[[], T]) -> "Future[T]":
        """Run `work` in a thread of its own from now on."""

        def run() -> T:
            try:
                return work()
            finally:
                connection.close()

        return self._pool.submit(run)

    def together(self, *works: Callable[[], Any]) -> list[Any]:
        """Run all at the same moment; return what they returned, or raise what the first one raised."""
        gate = threading.Barrier(len(works))

        def wait_and_run(work: Callable[[], Any]) -> Any:
            gate.wait(SECONDS)
            return work()

        futures = [
            self.start(lambda work=work: wait_and_run(work))  # type: ignore[misc]
            for work in works
        ]
        return [future.result(SECONDS) for future in futures]


@contextmanager
def crew(most: int = 16) -> Iterator[Crew]:
    """A crew whose threads have all ended when the block is left."""
    with ThreadPoolExecutor(most) as pool:
        yield Crew(pool)


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run all at the same moment in a crew of their own; return what they returned."""
    with crew(len(works)) as threads:
        return threads.together(*works)


@contextmanager
def holding(statement: str, *parameters: Any) -> Iterator[Any]:
    """Run a statement on another connection, and keep its transaction, with its locks, open meanwhile; yield its cursor."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            # Others may take long to arrive on a busy machine.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute(statement, parameters)
            yield cursor
        other.commit()
    finally:
        other.close()


def behind(statement: str, *parameters: Any, works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Let works begin, one after another, while somebody holds a lock, until all wait; return what they returned."""
    with crew(len(works)) as threads:
        started = []
        with holding(statement, *parameters):
            for number, work in enumerate(works, 1):
                started.append(threads.start(work))
                wait_for_waiters(number)
        return [one.result(SECONDS) for one in started]


def waiting_for_locks() -> int:
    """How many connections to this database wait for a lock."""
    with connection.cursor() as cursor:
        # Within a transaction the first answer would be given again.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def wait_for_waiters(count: int) -> None:
    """Return once exactly so many connections wait for a lock."""
    wait_until(lambda: waiting_for_locks() == count, seconds=SECONDS)


def deadlocks() -> int:
    """How many deadlocks this database has had to break, ever."""
    with connection.cursor() as cursor:
        # Statistics are remembered within a transaction and are flushed late by whoever ran into one.
        cursor.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


@contextmanager
def claims_locking_nothing() -> Iterator[None]:
    """Leave out the trigger that adds claims to the days meanwhile: it locks the claimed transfers too."""
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGER.format("DISABLE"))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(_TRIGGER.format("ENABLE"))


_TRIGGER = "ALTER TABLE wallets_transferclaim {} TRIGGER transfer_days_claimed"
