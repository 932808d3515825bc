"""What was used already, and what must be taken up again."""

import threading
import time
from typing import Final, Protocol

_MOST: Final = 100_000


class ClaimStore(Protocol):
    """Remembers names for a while. Both calls must decide for one of several callers, in all processes that share it."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Write a name down unless it is; says whether it was not."""

    def take(self, name: str) -> str | None:
        """Forget a name, and return its value to the one caller who made it be forgotten."""


class MemoryClaims:
    """Claims of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[str, float]] = {}

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Write a name down unless it is."""
        now = time.monotonic()
        with self._lock:
            known = self._found.get(name)
            if known and known[1] > now:
                return False
            self._make_room(now)
            self._found[name] = (value, now + seconds)
            return True

    def take(self, name: str) -> str | None:
        """Forget a name, and return its value."""
        with self._lock:
            known = self._found.pop(name, None)
        return known[0] if known and known[1] > time.monotonic() else None

    def _make_room(self, now: float) -> None:
        if len(self._found) < _MOST:
            return
        alive = {name: told for name, told in self._found.items() if told[1] > now}
        # Each of them was paid for, so nobody gets here cheaply; the oldest go.
        kept = list(alive.items())[len(alive) // 2 :]
        self._found = dict(kept)
