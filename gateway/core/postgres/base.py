"""PostgreSQL, whose connections cost few questions and whose locks no frozen client keeps."""

import time
from typing import Final

from django.db.backends.postgresql import base

LONGEST_PAUSE_SECONDS: Final = 10
"""How long a transaction may wait for its client. Nothing of ours thinks for so long between two statements."""

_FRESH_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, whose health is checked only after the connection was idle; Django would ask with every request.

    When the server restarts under load, a request on a connection less than a second idle fails, once per
    connection; the next one finds a new connection.
    """

    _used_at = 0.0

    def close_if_health_check_failed(self) -> None:
        """Check the connection unless it was used within the last second."""
        now = time.monotonic()
        if now - self._used_at > _FRESH_SECONDS:
            super().close_if_health_check_failed()
        self._used_at = now

    def init_connection_state(self) -> None:
        """Let the server end a transaction whose process froze in the middle of it.

        Its locks, the one on a chain's cursor among them, would keep everybody else waiting as long as it sleeps. By
        SET and not among the connection's parameters, which poolers refuse.
        """
        super().init_connection_state()
        with self.connection.cursor() as cursor:
            cursor.execute(
                f"SET idle_in_transaction_session_timeout = '{LONGEST_PAUSE_SECONDS}s'"
            )
