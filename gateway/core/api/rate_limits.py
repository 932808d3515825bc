"""Rate limits: fixed windows, of sixty seconds by default, counted in Valkey by one atomic script.

DRF's throttles read, change and write back without a lock: with a limit of 60, eight processes let 318 requests through.
"""

from dataclasses import dataclass

from django.conf import settings

from gateway.core import valkey

WINDOW_SECONDS = 60
# Counts and sets the expiry in one step, so that every counter expires.
NAMESPACE = "rate"
"""Part of each counter's name. Tests give each test its own."""

_SCRIPT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many requests of one kind a caller may make in a window of so many seconds."""

    scope: str
    most: int
    seconds: int = WINDOW_SECONDS


@dataclass(frozen=True, slots=True)
class RateState:
    """The values of the three X-RateLimit headers. `reset` is a Unix time in seconds."""

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

    While Valkey is down, requests pass, because payments matter more than limits; a metric counts them.
    """
    window = int(now) // limit.seconds
    key = f"{settings.KEY_PREFIX}:{NAMESPACE}:{limit.scope}:{identity}:{window}"
    used = valkey.ask("EVAL", _SCRIPT, 1, key, 2 * limit.seconds) or 0
    return RateState(
        limit=limit.most,
        remaining=max(limit.most - used, 0),
        reset=(window + 1) * limit.seconds,
        exceeded=used > limit.most,
    )
