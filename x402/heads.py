"""Newest heights of chains, at most two seconds old: remembered per process, and asked of a node where a watcher's is older."""

import time
from threading import Lock
from typing import Final, NamedTuple

from wallets.lookup import head_on

FRESH_SECONDS: Final = 1.5
"""How old a head may be that confirmations are counted from. What is left of two seconds is for the answer."""

WATCHED_SECONDS: Final = 150.0
"""How old a watcher's head may be at most for newer ones to count: on a chain that nobody pays on it looks once a minute."""

_ASK_SECONDS: Final = 1.0
_REST_SECONDS: Final = 10.0


class _Told(NamedTuple):
    """What a chain's nodes told; times are of the monotonic clock. They are asked again `after` then."""

    height: int | None
    at: float
    after: float


class _Heads:
    """What this process knows of its chains' heads, for all threads."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        self._locks: dict[str, Lock] = {}

    def note(self, chain: str, height: int, *, at: float) -> None:
        """Remember a head that a node told after `at`, on the monotonic clock."""
        self._told[chain] = _Told(height, at, at + FRESH_SECONDS)

    def known(self, chain: str) -> int | None:
        """Return a head that is fresh, or None. Asks nobody."""
        told = self._told.get(chain)
        is_fresh = told is not None and time.monotonic() < told.at + FRESH_SECONDS
        return told.height if told is not None and is_fresh else None

    def ask(self, chain: str) -> int | None:
        """Return a fresh head; None where no node tells one in a second. Then none is asked for ten.

        Whoever comes while a node is asked takes its answer.
        """
        with self._locks.setdefault(chain, Lock()):
            told, now = self._told.get(chain), time.monotonic()
            if told is None or now >= told.after:
                height = head_on(chain, deadline_seconds=_ASK_SECONDS)
                rest = FRESH_SECONDS if height is not None else _REST_SECONDS
                self._told[chain] = _Told(height, now, now + rest)
            return self.known(chain)

    def forget(self) -> None:
        """Forget all of them."""
        self._told.clear()


HEADS: Final = _Heads()
