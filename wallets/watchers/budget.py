"""Counting the requests sent to a chain's nodes, and keeping them within what the nodes allow."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# A sixth of a minute's requests may be spent at once; the rest comes with time, so that no minute exceeds the whole.
_AT_ONCE: Final = 1 / 6
_MINUTE: Final = 60.0


class Budget:
    """A bucket of requests that fills with time. What was spent beyond it is owed, and waited for."""

    def __init__(
        self,
        per_minute: int,
        *,
        spent: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin full. `spent` counts all requests so far, `clock` seconds."""
        self.capacity = per_minute * _AT_ONCE
        self._rate = per_minute * (1 - _AT_ONCE) / _MINUTE
        self._spent = spent
        self._clock = clock
        self._level = self.capacity
        self._filled_at, self._counted = clock(), spent()

    def level(self) -> float:
        """Return how many requests are left; what is owed is negative."""
        now, spent = self._clock(), self._spent()
        filled = self._level + (now - self._filled_at) * self._rate
        self._level = min(filled, self.capacity) - (spent - self._counted)
        self._filled_at, self._counted = now, spent
        return self._level

    def seconds_until(self, level: float) -> float:
        """Return how long the bucket takes to hold so many, if nothing is spent meanwhile."""
        return max((level - self.level()) / self._rate, 0.0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests since the last time they were written down, and in the last minute."""

    new: int
    last_minute: int


class Meter:
    """Counts requests for people to look at."""

    def __init__(
        self, *, spent: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin at what was `spent` so far."""
        self._spent = spent
        self._clock = clock
        self._written = spent()
        # Pairs of a time and the count then, a second apart at least; the first is a minute old.
        self._marks: deque[tuple[float, int]] = deque([(clock(), self._written)])

    def usage(self) -> Usage:
        """Return what was used up to now."""
        now, spent = self._clock(), self._spent()
        if now - self._marks[-1][0] >= 1.0:
            self._marks.append((now, spent))
        while len(self._marks) > 1 and self._marks[1][0] <= now - _MINUTE:
            self._marks.popleft()
        return Usage(spent - self._written, spent - self._marks[0][1])

    def wrote(self, usage: Usage) -> None:
        """Note that this much was written down."""
        self._written += usage.new
