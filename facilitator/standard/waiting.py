"""Places for requests that wait for a chain. A process has few threads, and checkouts are answered by the same ones.

Whoever finds no place to wait has its payment sent all the same; it learns of the end by asking again. Nodes that take
connections and answer nothing are asked by few at once, until they answer.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Final

from django.conf import settings

from wallets.chains.registry import ChainSpec

_LOOKS_IN_A_BLOCK: Final = 40
# One of so many questions that a chain's nodes allow is for waiting settlements.
_SHARE: Final = 4
# A node that answers does so within a fraction of that.
_SLOW_SECONDS: Final = 2.0


class _Places:
    """How many threads of this process wait, by chain."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken: Counter[str] = Counter()

    def take(self, chain: str) -> bool:
        """Take a place, where there is one: half of all threads may wait, and for one chain three quarters of these."""
        most = max(settings.WEB_THREADS // 2, 1)
        most_for_one = max(3 * most // 4, 1)
        with self._lock:
            if self._taken.total() >= most or self._taken[chain] >= most_for_one:
                return False
            self._taken[chain] += 1
            return True

    def count(self, chain: str) -> int:
        """Return how many are taken."""
        return self._taken[chain]

    def give_back(self, chain: str) -> None:
        """Leave a place to others."""
        with self._lock:
            self._taken[chain] -= 1


class _Askers:
    """Which threads of this process are asking a chain's nodes, and since when, on the monotonic clock."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: defaultdict[str, dict[int, float]] = defaultdict(dict)

    def enter(self, chain: str) -> bool:
        """Begin to ask, unless a sixth of all threads have been asking for long."""
        now, most = time.monotonic(), max(settings.WEB_THREADS // 6, 1)
        with self._lock:
            asking = self._since[chain]
            slow = sum(now - since > _SLOW_SECONDS for since in asking.values())
            if slow >= most:
                return False
            asking[get_ident()] = now
            return True

    def leave(self, chain: str) -> bool:
        """Stop asking; say whether this thread was."""
        with self._lock:
            return self._since[chain].pop(get_ident(), None) is not None

    def go_on(self, chain: str) -> None:
        """Ask again after a pause."""
        with self._lock:
            self._since[chain][get_ident()] = time.monotonic()


_places: Final = _Places()
_askers: Final = _Askers()


@contextmanager
def waiting_place(chain: str) -> Iterator[bool]:
    """Take a place to wait for a chain for as long as the block lasts; yield whether there was one."""
    if not _places.take(chain):
        yield False
        return
    was_asking = _askers.leave(chain)
    try:
        yield True
    finally:
        _places.give_back(chain)
        if was_asking:
            _askers.go_on(chain)


def waiting_for(chain: str) -> int:
    """Return how many of this process wait for a chain just now."""
    return _places.count(chain)


def longest_pause(spec: ChainSpec, *, questions: int = 1) -> float:
    """Return the seconds between two looks of one who waits, which ask so many questions.

    All who wait for a chain in this process take a quarter together of what a public node allows.
    """
    often = spec.block_seconds / _LOOKS_IN_A_BLOCK
    if spec.is_local:
        return often
    waiting = max(waiting_for(spec.name), 1)
    return max(often, questions * waiting * _SHARE * 60 / spec.requests_per_minute)


@contextmanager
def asking(chain: str) -> Iterator[bool]:
    """Ask a chain's nodes for as long as the block lasts; yield False where too many do so who get no answer."""
    if not _askers.enter(chain):
        yield False
        return
    try:
        yield True
    finally:
        _askers.leave(chain)
