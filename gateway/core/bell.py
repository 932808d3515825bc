"""Bells: wake-up messages through Valkey. They carry no data, and a lost one costs the listener one poll."""

import asyncio
import time

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.client import PubSub
from redis.retry import Retry

from gateway.core import valkey

log = structlog.get_logger(__name__)

_CONNECT_SECONDS = 0.5
_RETRY_SECONDS = 1.0


def ring(name: str) -> None:
    """Wake all listeners of the bell `name`. Never raises: listeners also poll."""
    valkey.attempt(lambda client: client.publish(_channel(name), b""))


def _channel(name: str) -> str:
    return f"{settings.KEY_PREFIX}:bell:{name}"


class Listener:
    """Waits for one bell. While Valkey is down, it returns after the timeout, so that callers poll."""

    def __init__(self, name: str) -> None:
        self._channel = _channel(name)
        self._subscription: PubSub | None = None
        self._away_until = 0.0

    def wait(self, seconds: float) -> bool:
        """Return True as soon as the bell rings, False after `seconds` without it."""
        deadline = time.monotonic() + seconds
        try:
            return self._listen(deadline)
        except (redis.RedisError, OSError) as error:
            log.warning("cannot hear the bell", error=type(error).__name__)
            self._away_until = time.monotonic() + _RETRY_SECONDS
            self.close()
            _sleep_until(deadline)
            return False

    async def wait_async(self, seconds: float) -> bool:
        """As `wait`, without blocking the event loop."""
        return await asyncio.to_thread(self.wait, seconds)

    def close(self) -> None:
        """Close the connection."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription.connection_pool.disconnect()
            self._subscription = None

    def _listen(self, deadline: float) -> bool:
        if not settings.REDIS_URL or time.monotonic() < self._away_until:
            _sleep_until(deadline)
            return False
        if self._subscription is None:
            self._subscription = self._subscribe()
        rang = False
        while (left := deadline - time.monotonic()) > 0:
            message = self._subscription.get_message(timeout=0 if rang else left)
            if rang and message is None:
                # Takes all queued rings: one poll of the database serves them all.
                return True
            rang = rang or (message is not None and message["type"] == "message")
        return rang

    def _subscribe(self) -> PubSub:
        client = redis.Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=_CONNECT_SECONDS, retry=Retry(NoBackoff(), 0)
        )
        subscription: PubSub = client.pubsub()  # type: ignore[no-untyped-call]
        subscription.subscribe(self._channel)
        return subscription


def _sleep_until(deadline: float) -> None:
    time.sleep(max(deadline - time.monotonic(), 0))
