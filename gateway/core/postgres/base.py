"""A connection used a moment ago is taken for healthy; Django would ask the server with every request."""

import time

from django.db.backends.postgresql import base

_FRESH_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, whose health is checked only after the connection was idle.

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
