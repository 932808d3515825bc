"""Fixed windows of sixty seconds, counted in Valkey by one atomic script.

DRF's throttles read, change and write back: eight processes let 318 of 60 requests through. Here the counter decides.
"""

from dataclasses import dataclass

import redis
from django.conf import settings

from gateway.core import valkey

WINDOW_SECONDS = 60
# Counts and sets the expiry in one step, so that no counter can stay behind for ever.
_SCRIPT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many requests of one kind a caller may make in a window."""

    scope: str
    per_minute: int


@dataclass(frozen=True, slots=True)
class RateState:
    """What the three X-RateLimit headers say. `reset` is a Unix time in seconds."""

    limit: int
    remaining: int
    reset: int
    exceeded: bool

    def headers(self) -> dict[str, str]:
        """Return the headers every API response carries."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }


PER_ADDRESS = Limit("address", 60)


def hit(limit: Limit, identity: str, *, now: float) -> RateState:
    """Count one request of `identity` (a key id or a client address) against `limit`.

    When the counter store is away the request passes: payments matter more than limits, and a metric counts them.
    """
    window = int(now) // WINDOW_SECONDS
    key = f"{settings.KEY_PREFIX}:rate:{limit.scope}:{identity}:{window}"
    count = valkey.attempt(lambda client: _count(client, key))
    used = count or 0
    return RateState(
        limit=limit.per_minute,
        remaining=max(limit.per_minute - used, 0),
        reset=(window + 1) * WINDOW_SECONDS,
        exceeded=used > limit.per_minute,
    )


def _count(client: redis.Redis, key: str) -> int:
    return int(client.eval(_SCRIPT, 1, key, str(2 * WINDOW_SECONDS)))
