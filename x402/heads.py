"""Chains' newest heights, at most two seconds old: cached per process, and asked of a node if a watcher's is older."""

import time
from threading import Lock
from typing import Final, NamedTuple

from wallets.lookup import head_on

FRESH_SECONDS: Final = 1.5
"""The maximum age of a head for counting confirmations. The rest of two seconds is for the response."""

WATCHED_SECONDS: Final = 150.0
"""The maximum age of a watcher's head for newer ones to count: without payments it reads once a minute."""

_ASK_SECONDS: Final = 1.0
_REST_SECONDS: Final = 10.0


class _HeadAnswer(NamedTuple):
    """A node's answer; times are of the monotonic clock. The next request is due `after` then."""

    height: int | None
    at: float
    after: float


class _Heads:
    """This process's known heads, for all threads."""

    def __init__(self) -> None:
        self._told: dict[str, _HeadAnswer] = {}
        self._locks: dict[str, Lock] = {}

    def note(self, chain: str, height: int, *, at: float) -> None:
        """Store a head that a node reported after `at`, on the monotonic clock."""
        self._told[chain] = _HeadAnswer(height, at, at + FRESH_SECONDS)

    def known(self, chain: str) -> int | None:
        """Return a fresh head, or None, without a request."""
        told = self._told.get(chain)
        is_fresh = told is not None and time.monotonic() < told.at + FRESH_SECONDS
        return told.height if told is not None and is_fresh else None

    def ask(self, chain: str) -> int | None:
        """Return a fresh head; None if no node reports one within a second. Then none is asked for ten seconds.

        Concurrent callers share one answer.
        """
        with self._locks.setdefault(chain, Lock()):
            told, now = self._told.get(chain), time.monotonic()
            if told is None or now >= told.after:
                height = head_on(chain, deadline_seconds=_ASK_SECONDS)
                rest = FRESH_SECONDS if height is not None else _REST_SECONDS
                self._told[chain] = _HeadAnswer(height, now, now + rest)
            return self.known(chain)

    def forget(self) -> None:
        """Forget all of them."""
        self._told.clear()


HEADS: Final = _Heads()
