"""Counts requests to a chain's nodes, and keeps them within the nodes' limits."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# A sixth of a minute's requests may be spent at once; the rest accrues, so that no minute exceeds the limit.
_AT_ONCE: Final = 1 / 6
_MINUTE: Final = 60.0


class Budget:
    """A token bucket of requests. Requests beyond it are owed, and waited for."""

    def __init__(
        self, per_minute: int, *, spent: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start full. `spent` counts all requests so far, `clock` seconds."""
        self.capacity = per_minute * _AT_ONCE
        self._rate = per_minute * (1 - _AT_ONCE) / _MINUTE
        self._spent = spent
        self._clock = clock
        self._level = self.capacity
        self._filled_at, self._counted = clock(), spent()

    def level(self) -> float:
        """Return how many requests are left; negative if some are owed."""
        now, spent = self._clock(), self._spent()
        filled = self._level + (now - self._filled_at) * self._rate
        self._level = min(filled, self.capacity) - (spent - self._counted)
        self._filled_at, self._counted = now, spent
        return self._level

    def seconds_until(self, level: float) -> float:
        """Return the seconds until the bucket holds this many, if nothing is spent meanwhile."""
        return max((level - self.level()) / self._rate, 0.0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests since the last record, and in the last minute."""

    new: int
    last_minute: int


class Meter:
    """Counts requests for reports."""

    def __init__(self, *, spent: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        """Start at the number `spent` so far."""
        self._spent = spent
        self._clock = clock
        self._written = spent()
        # Pairs of a time and the count then, a second apart at least; the first is a minute old.
        self._marks: deque[tuple[float, int]] = deque([(clock(), self._written)])

    def usage(self) -> Usage:
        """Return the usage up to now."""
        now, spent = self._clock(), self._spent()
        if now - self._marks[-1][0] >= 1.0:
            self._marks.append((now, spent))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _MINUTE:
            self._marks.popleft()
        return Usage(spent - self._written, spent - self._marks[0][1])

    def wrote(self, usage: Usage) -> None:
        """Record that this usage was written."""
        self._written += usage.new
