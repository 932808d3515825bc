"""PostgreSQL backend: fewer health checks, and a limit on idle transactions.

No session settings are used: behind a pooler, many clients share a session. The settings are defaults of the role instead.
"""

import time
from datetime import UTC
from typing import Any, Final

import psycopg
import structlog
from django.db.backends.postgresql import base

log = structlog.get_logger(__name__)

LONGEST_PAUSE_SECONDS: Final = 10
"""Seconds that a transaction may stay idle. Florin's code never waits this long between two statements."""

LIMIT_PAUSES: Final = f"ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '{LONGEST_PAUSE_SECONDS}s'"
"""Make the server end the transaction of a frozen process.

Otherwise its locks, such as the one on a chain's cursor, would block all other processes.
"""

_ARE_LIMITED: Final = """
    SELECT current_setting('idle_in_transaction_session_timeout')::interval
        BETWEEN interval '1 millisecond' AND make_interval(secs => %s)
"""
_FRESH_SECONDS = 1.0

_OWN_LOADER: Any = psycopg.adapters.get_loader(base.TIMESTAMPTZ_OID, psycopg.pq.Format.TEXT)


class UtcLoader(psycopg.adapt.Loader):
    """Reads times with psycopg's own loader, in C: Django's is in Python and takes twenty times as long.

    Both read them in the session's time zone, which Django sets to UTC.
    """

    # Django registers its own loader for a cursor unless this is the connection's time zone.
    timezone = UTC

    def __new__(cls, oid: int, context: Any = None) -> Any:
        """Return psycopg's loader, of which there can be no subclass."""
        return _OWN_LOADER(oid, context)


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL with a health check only after the connection was idle. Django would check with every request.

    When the server restarts under load, a request on a connection less than a second idle fails, once per connection; the
    next one finds a new connection.
    """

    _used_at = 0.0
    _was_looked_at = False

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's, with our reader of times."""
        params: dict[str, Any] = super().get_connection_params()
        params["context"].adapters.register_loader("timestamptz", UtcLoader)
        return params

    def close_if_health_check_failed(self) -> None:
        """Check the connection unless it was used within the last second."""
        now = time.monotonic()
        if now - self._used_at > _FRESH_SECONDS:
            super().close_if_health_check_failed()
        self._used_at = now

    def init_connection_state(self) -> None:
        """Warn once per process if the server does not end idle transactions."""
        super().init_connection_state()
        if DatabaseWrapper._was_looked_at:
            return
        DatabaseWrapper._was_looked_at = True
        if not self.limits_pauses():
            log.warning("a frozen process would keep its locks", missing=LIMIT_PAUSES)

    def limits_pauses(self) -> bool:
        """Return whether the server ends idle transactions within our limit."""
        with self.connection.cursor() as cursor:
            cursor.execute(_ARE_LIMITED, [LONGEST_PAUSE_SECONDS])
            return bool(cursor.fetchone()[0])
