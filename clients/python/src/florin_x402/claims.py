"""Storage of used payments and of tickets to resume."""

import threading
import time
from typing import Final, Protocol

_MOST: Final = 100_000


class ClaimStore(Protocol):
    """Stores keys for a while. Both calls must be atomic among all callers and processes that share the storage."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Add a key; return False if it exists."""

    def take(self, name: str) -> str | None:
        """Remove a key, and return its value to the one caller that removed it."""


class MemoryClaims:
    """Claims in the memory of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[str, float]] = {}

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Add a key; return False if it exists."""
        now = time.monotonic()
        with self._lock:
            known = self._found.get(name)
            if known and known[1] > now:
                return False
            self._make_room(now)
            # Behind all others, also where an ended one of this name stood before them.
            self._found.pop(name, None)
            self._found[name] = (value, now + seconds)
            return True

    def take(self, name: str) -> str | None:
        """Remove a key, and return its value."""
        with self._lock:
            known = self._found.pop(name, None)
        return known[0] if known and known[1] > time.monotonic() else None

    def _make_room(self, now: float) -> None:
        if len(self._found) < _MOST:
            return
        alive = [(name, told) for name, told in self._found.items() if told[1] > now]
        # Each entry was paid for, so filling this up is expensive. Where not enough have ended, the oldest are dropped.
        self._found = dict(alive[-(3 * _MOST // 4) :])
