"""The process's one connection to Valkey/Redis. Data there may be lost at any moment."""

import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import redis
import structlog
from django.conf import settings
from prometheus_client import Counter

log = structlog.get_logger(__name__)
T = TypeVar("T")

UNAVAILABLE = Counter(
    "florin_valkey_unavailable_total",
    "Commands passed over because Valkey did not answer.",
)
_RETRY_SECONDS = 1.0


@cache
def client() -> redis.Redis:
    """Return this process's client. Its time-outs are short: no request should wait long for a counter."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=0.25, socket_connect_timeout=0.25
    )


class _Breaker:
    """Remembers a failure for a second, so that a dead server costs one time-out a second, not one per request."""

    def __init__(self) -> None:
        self.closed_again_at = 0.0

    def call(self, command: Callable[[redis.Redis], T]) -> T | None:
        if time.monotonic() < self.closed_again_at or not settings.REDIS_URL:
            UNAVAILABLE.inc()
            return None
        try:
            return command(client())
        except (redis.RedisError, OSError) as error:
            self.closed_again_at = time.monotonic() + _RETRY_SECONDS
            UNAVAILABLE.inc()
            log.warning("valkey does not answer", error=type(error).__name__)
            return None


_breaker = _Breaker()


def attempt(command: Callable[[redis.Redis], T]) -> T | None:
    """Run `command` with the client; return None while Valkey is down. For work that payments must not wait for."""
    return _breaker.call(command)
