"""Slots that follow the clock, computed at each request."""

import time
from collections.abc import Callable
from typing import Final

SLOT_SECONDS: Final = 0.4
FIRST_SLOT: Final = 1_000
CONFIRMED_DEPTH: Final = 1
FINALIZED_DEPTH: Final = 32 + CONFIRMED_DEPTH
COMMITMENTS: Final = {"processed": 0, "confirmed": CONFIRMED_DEPTH, "finalized": FINALIZED_DEPTH}


class Slots:
    """The chain's slots and their times. `now` returns seconds since 1970."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        # Slots and when they began; between them one follows another by the clock.
        self._anchors = [(FIRST_SLOT, now())]
        self._skipped: set[int] = set()

    @property
    def current(self) -> int:
        """The newest slot."""
        slot, began = self._anchors[-1]
        return slot + max(0, int((self._now() - began) / SLOT_SECONDS))

    def head(self, commitment: str) -> int:
        """The newest slot at a commitment that has a block."""
        slot = self.current - COMMITMENTS[commitment]
        while slot in self._skipped:
            slot -= 1
        return slot

    def time_of(self, slot: int) -> int:
        """When a slot was, in whole seconds since 1970; never in the future."""
        latest = self._now()
        for start, began in reversed(self._anchors):
            if start <= slot:
                return int(min(began + (slot - start) * SLOT_SECONDS, latest))
            latest = began
        return int(latest)

    def has_block(self, slot: int) -> bool:
        """Whether a leader made a block in it."""
        return slot not in self._skipped

    def advance(self, count: int = 1) -> None:
        """Let slots pass at once."""
        self._anchors.append((self.current + count, self._now()))

    def skip(self, count: int = 1) -> None:
        """Let slots pass at once in which no leader makes a block, and one with a block."""
        first = self.current + 1
        self._skipped |= set(range(first, first + count))
        self.advance(count + 1)

    def rewind(self, to: int) -> None:
        """Go back to a slot, as a node that fell behind, or one of another fork."""
        kept = [anchor for anchor in self._anchors if anchor[0] < to]
        self._anchors = [*kept, (to, self._now())]
