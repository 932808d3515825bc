"""PostgreSQL, whose connections cost few questions and whose locks no frozen client keeps.

Nothing is set for a session, which behind a pooler is many clients': what each of ours needs is a default of the role.
"""

import time
from typing import Final

import structlog
from django.db.backends.postgresql import base

log = structlog.get_logger(__name__)

LONGEST_PAUSE_SECONDS: Final = 10
"""How long a transaction may wait for its client. Nothing of ours thinks for so long between two statements."""

LIMIT_PAUSES: Final = f"ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '{LONGEST_PAUSE_SECONDS}s'"
"""Let the server end a transaction whose process froze in the middle of it.

Its locks, the one on a chain's cursor among them, would keep everybody else waiting as long as it sleeps.
"""

_ARE_LIMITED: Final = """
    SELECT current_setting('idle_in_transaction_session_timeout')::interval
        BETWEEN interval '1 millisecond' AND make_interval(secs => %s)
"""
_FRESH_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, whose health is checked only after the connection was idle; Django would ask with every request.

    When the server restarts under load, a request on a connection less than a second idle fails, once per
    connection; the next one finds a new connection.
    """

    _used_at = 0.0
    _was_looked_at = False

    def close_if_health_check_failed(self) -> None:
        """Check the connection unless it was used within the last second."""
        now = time.monotonic()
        if now - self._used_at > _FRESH_SECONDS:
            super().close_if_health_check_failed()
        self._used_at = now

    def init_connection_state(self) -> None:
        """Warn, once in a process, where nothing ends the transactions of a frozen one."""
        super().init_connection_state()
        if DatabaseWrapper._was_looked_at:
            return
        DatabaseWrapper._was_looked_at = True
        if not self.limits_pauses():
            log.warning("a frozen process would keep its locks", missing=LIMIT_PAUSES)

    def limits_pauses(self) -> bool:
        """Whether the server ends transactions that wait for their client, and in time."""
        with self.connection.cursor() as cursor:
            cursor.execute(_ARE_LIMITED, [LONGEST_PAUSE_SECONDS])
            return bool(cursor.fetchone()[0])
