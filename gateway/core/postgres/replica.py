"""Sends reads that may be some seconds old to a streaming replica, and lets several reads see one moment (`snapshot`)."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from gateway.core.postgres.addresses import REPLICA

log = structlog.get_logger(__name__)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Answer = TypeVar("Answer", bound=HttpResponseBase)

HEADER: Final = "X-Data-Lag-Seconds"
"""Of an answer from the replica: how far it was behind, at most."""

_LOOK_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 5.0
_WRITTEN: Final = "SELECT pg_current_wal_lsn(), clock_timestamp()"
# A primary is no replica, even if it was one: after a failover it may be the old one, which nothing is written to. Both times
# are of the primary's clock: the replica's own may be wrong.
_READ: Final = """
    SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn,
        extract(epoch FROM %s::timestamptz - pg_last_xact_replay_timestamp())::float8
"""

_reads: ContextVar[bool] = ContextVar("reads_replica", default=False)


class _Replica:
    """What this process knows of the replica: its lag, looked at once a second."""

    def __init__(self) -> None:
        self._looked_at = self._measured_at = self._had_all_at = float("-inf")
        self._pause = _LOOK_SECONDS
        self._lag: float | None = None

    def lag(self) -> float | None:
        """Return the seconds that the replica is behind, at most; None without one that answers."""
        if not settings.REPLICA_URL:
            return None
        now = time.monotonic()
        if now - self._looked_at >= self._pause:
            # Set first, so that other threads use the last known lag meanwhile.
            self._looked_at, self._pause = now, _LOOK_SECONDS
            try:
                self._lag, self._measured_at = self._measure(now), now
            except (OperationalError, InterfaceError) as error:
                self.fail(error)
        return None if self._lag is None else self._lag + now - self._measured_at

    def fail(self, error: Exception) -> None:
        """Ask the primary for some seconds."""
        log.warning("the replica does not answer", error=type(error).__name__)
        self._looked_at, self._pause = time.monotonic(), _PAUSE_SECONDS
        self._lag = None

    def _measure(self, now: float) -> float | None:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(_WRITTEN)
            written, at = cursor.fetchone()
        with connections[REPLICA].cursor() as cursor:
            cursor.execute(_READ, [written, at])
            is_replica, has_all, age = cursor.fetchone()
        if not is_replica:
            return None
        if has_all:
            self._had_all_at = now
        # Without writes, the last transaction gets old although nothing is missing.
        since = float("inf") if age is None else max(0.0, age)
        return min(now - self._had_all_at, since)


replica = _Replica()


@contextmanager
def _reading(*, replica_too: bool) -> Iterator[None]:
    token = _reads.set(replica_too)
    try:
        yield
    finally:
        _reads.reset(token)


class Router:
    """Sends reads to the replica within a view that may, and everything else to the primary."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Return where to read; never where an object came from, because that may be the replica."""
        return read_alias()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        """Return where to write and to lock."""
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        """Return that objects of both may be related: they are the same rows."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Return whether to migrate there."""
        return db != REPLICA


def read_alias() -> str:
    """Return the alias of the database to read, for statements that are written by hand."""
    return REPLICA if _reads.get() else DEFAULT_DB_ALIAS


def from_primary(read: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function read the primary wherever it is called: what it returns is kept, and served to requests that decide."""

    @wraps(read)
    def ask(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _reading(replica_too=False):
            return read(*args, **kwargs)

    return ask


def reads_replica(view: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Let a view that only reads read the replica, and tell its lag in a header of the answer.

    If the replica lags too much, or fails in the middle, the view reads the primary.
    """

    @wraps(view)
    def read(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        lag = replica.lag()
        if lag is None or lag > settings.REPLICA_MOST_LAG_SECONDS:
            return view(*args, **kwargs)
        _note(lag, args)
        try:
            with _reading(replica_too=True):
                answer = view(*args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            replica.fail(error)
            _note(0.0, args)
            return view(*args, **kwargs)
        # What is streamed is read later, from the primary.
        if not answer.streaming:
            answer[HEADER] = f"{lag:.1f}"
        return answer

    return read


def _note(lag: float, arguments: Iterable[object]) -> None:
    """Let the page say how old its figures are."""
    for one in arguments:
        if isinstance(one, HttpRequest):
            one.data_lag = lag  # type: ignore[attr-defined]


_READ_ONLY_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@contextmanager
def snapshot() -> Iterator[None]:
    """Let all reads in the block see the same rows, on the replica where that is read. They can write nothing.

    Within a transaction that has begun already, as tests have one, that one's rules apply.
    """
    connection = connections[read_alias()]
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(_READ_ONLY_SNAPSHOT)
        yield
