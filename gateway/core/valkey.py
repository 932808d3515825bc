"""The process's one connection to Valkey/Redis. Data there may be lost at any moment."""

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import redis
import structlog
from django.conf import settings
from prometheus_client import Counter

log = structlog.get_logger(__name__)
T = TypeVar("T")

UNAVAILABLE = Counter("florin_valkey_unavailable_total", "Commands passed over because Valkey did not answer.")
_RETRY_SECONDS = 1.0
# No request should wait long for a counter.
_PATIENCE_SECONDS = 0.25


@cache
def client() -> redis.Redis:
    """Return this process's client."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=_PATIENCE_SECONDS, socket_connect_timeout=_PATIENCE_SECONDS
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
    """Run `command` with the client; return None while Valkey is down. For work that must not delay payments."""
    return _breaker.call(command)


def ask(*command: str | int) -> Any:
    """Send a command on this thread's own connection and return the answer; None while Valkey is down.

    For commands of every request: the client's pool, retries and metrics take longer than the command
    (benchmarks/profiles.md). A command may be sent twice if the server closed the connection since the last one.
    """
    return _breaker.call(lambda client: _ask(client, command))


_of_thread = threading.local()


def _ask(client: redis.Redis, command: tuple[str | int, ...]) -> Any:
    try:
        return _exchange(client, command)
    except redis.ConnectionError:
        return _exchange(client, command)


def _exchange(client: redis.Redis, command: tuple[str | int, ...]) -> Any:
    connection = _connection(client)
    # Any failure closes the connection, so that a late answer is not taken for that of the next command.
    connection.send_command(*command)
    return connection.read_response()


def _connection(client: redis.Redis) -> Any:
    """Return the thread's connection, reopened for another client and after a fork."""
    owner = (client, os.getpid())
    if getattr(_of_thread, "owner", None) != owner:
        pool = client.connection_pool
        _of_thread.connection = pool.connection_class(**pool.connection_kwargs)
        _of_thread.owner = owner
    return _of_thread.connection
