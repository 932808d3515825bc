"""Requests that wait for a chain's next block: limits, the times of their next look, and one thread per process that polls."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Thread, get_ident
from typing import Any, Final

import structlog
from django.conf import settings

from settlements.gas.node import RECEIPT_SECONDS
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool

log = structlog.get_logger(__name__)

MOST_WAITING: Final = 400
"""How many requests of one process may wait; at most three quarters of them for one chain."""

_LOOKS_IN_A_BLOCK: Final = 40
# The share of a chain's node requests that is for waiting settlements: one of this many.
_SHARE: Final = 4
# A working node answers in a fraction of that, and many payers at once take a few seconds of processor time.
_SLOW_SECONDS: Final = 6.0
_FIRST_TURN: Final = 0.01
_LONGEST_TURN: Final = 0.25
# A request that was not called again has lost its client, and no longer needs its place.
_LOST_SECONDS: Final = 3 * RECEIPT_SECONDS


@dataclass(slots=True)
class _Waiter:
    """A waiting request, between two moments of the monotonic clock; `head` is the newest block known then."""

    earliest: float
    latest: float
    head: Any
    future: "Future[None]" = field(default_factory=Future)

    def is_ready(self, head: Any, now: float) -> bool:
        is_new = head is not None and head != self.head
        return now >= self.latest or (is_new and now >= self.earliest)


class _Watch:
    """Polls one chain's nodes for their newest block."""

    def __init__(self, spec: ChainSpec) -> None:
        self.spec = spec
        self._lock = Lock()
        self._waiters: list[_Waiter] = []
        self._head: Any = None
        self._every = 0.0
        self._is_running = False

    def wait(self, *, at_least: float, at_most: float, every: float) -> "Future[None]":
        now = time.monotonic()
        with self._lock:
            waiter = _Waiter(now + at_least, now + at_most, self._head)
            self._waiters.append(waiter)
            self._every = every
            if not self._is_running:
                self._is_running = True
                Thread(target=self._run, daemon=True).start()
        return waiter.future

    def _run(self) -> None:
        pool = open_pool(self.spec)
        try:
            while pause := self._step(pool):
                time.sleep(pause)
        finally:
            pool.close()

    def _step(self, pool: RpcPool) -> float:
        """Poll once, and notify the waiting; return the pause, 0 if nothing waits any more."""
        self._ask(pool)
        now = time.monotonic()
        with self._lock:
            ready = [one for one in self._waiters if one.is_ready(self._head, now)]
            self._waiters = [one for one in self._waiters if one not in ready]
            if not self._waiters:
                # Reset: a later waiter would not know how old this is.
                self._is_running, self._head = False, None
            left = [one.latest - now for one in self._waiters]
        _tell(ready)
        return max(min(self._every, *left), 0.001) if left else 0.0

    def _ask(self, pool: RpcPool) -> None:
        try:
            self._head = self.spec.family.ask_newest(pool)
        except ChainError:
            return
        except Exception:
            # Without this thread nobody would end the waits, of paid settlements too.
            log.exception("newest block not read", chain=self.spec.name)


def _tell(waiters: Sequence[_Waiter]) -> None:
    for one in waiters:
        if one.future.set_running_or_notify_cancel():
            one.future.set_result(None)


_lock: Final = Lock()
_watches: Final[dict[str, _Watch]] = {}


def next_block(spec: ChainSpec, *, at_least: float, at_most: float, every: float) -> "Future[None]":
    """Return a future that is done with the chain's next block, within `at_least` and `at_most` seconds.

    Nodes are asked `every` so many seconds.
    """
    with _lock:
        watch = _watches.get(spec.name)
        if watch is None or watch.spec != spec:
            watch = _watches[spec.name] = _Watch(spec)
    return watch.wait(at_least=at_least, at_most=at_most, every=every)


class CalledAgainError(Exception):
    """Repeat the request when `after` is done; no state is lost."""

    def __init__(self, after: "Future[None]") -> None:
        super().__init__("to be called again")
        self.after = after


class Waiting:
    """One request's wait, over all its calls. `in_thread` if it cannot be called again."""

    def __init__(self, *, in_thread: bool = True) -> None:
        self._in_thread = in_thread
        self._until: float | None = None
        self._looks = 0
        self._turn = _FIRST_TURN

    def enter(self, chain: str) -> bool:
        """Take a place if one is free or this request has it already."""
        return _places.take(self, chain)

    def leave(self) -> None:
        """Release the place."""
        _places.give_back(self)

    @property
    def is_over(self) -> bool:
        """Whether it has waited the maximum time since its first call."""
        return self._until is not None and time.monotonic() > self._until

    def for_block(self, spec: ChainSpec, *, questions: int = 1) -> None:
        """Wait for a chain's next block, which may contain the transaction. A look sends this many requests.

        Raises CalledAgainError.
        """
        at_least = longest_pause(spec, questions=questions) if self._looks else 0.0
        self._looks += 1
        self._wait(spec, at_least, max(at_least, spec.block_seconds / 2))

    def for_turn(self, spec: ChainSpec) -> None:
        """Wait a moment for another request's progress. Raises CalledAgainError."""
        seconds, self._turn = self._turn, min(1.5 * self._turn, _LONGEST_TURN)
        self._wait(spec, seconds, seconds)

    def _wait(self, spec: ChainSpec, at_least: float, at_most: float) -> None:
        now = time.monotonic()
        if self._until is None:
            self._until = now + RECEIPT_SECONDS
        left = max(self._until - now, 0.0)
        every = longest_pause(spec, questions=1, waiting=1)
        after = next_block(spec, at_least=min(at_least, left), at_most=min(at_most, left), every=every)
        if not self._in_thread:
            raise CalledAgainError(after)
        after.result()


class _Places:
    """The waiting requests of this process, by chain, with start times of the monotonic clock."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken: dict[Waiting, tuple[str, float]] = {}

    def take(self, waiting: Waiting, chain: str) -> bool:
        with self._lock:
            if waiting in self._taken:
                return True
            now = time.monotonic()
            if not self._is_free(chain):
                self._taken = {
                    one: (name, since) for one, (name, since) in self._taken.items() if now - since < _LOST_SECONDS
                }
                if not self._is_free(chain):
                    return False
            self._taken[waiting] = (chain, now)
            return True

    def is_free(self, chain: str) -> bool:
        with self._lock:
            return self._is_free(chain)

    def count(self, chain: str) -> int:
        with self._lock:
            return self._counted()[chain]

    def give_back(self, waiting: Waiting) -> None:
        with self._lock:
            self._taken.pop(waiting, None)

    def _is_free(self, chain: str) -> bool:
        if len(self._taken) >= MOST_WAITING:
            return False
        return self._counted()[chain] < 3 * MOST_WAITING // 4

    def _counted(self) -> Counter[str]:
        return Counter(chain for chain, _ in self._taken.values())


class _Askers:
    """The threads of this process that are asking a chain's nodes, with start times of the monotonic clock."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: defaultdict[str, dict[int, float]] = defaultdict(dict)

    def enter(self, chain: str) -> bool:
        """Start to ask, unless a sixth of all threads have been asking for long."""
        now, most = time.monotonic(), max(settings.WEB_THREADS // 6, 1)
        with self._lock:
            asking = self._since[chain]
            slow = sum(now - since > _SLOW_SECONDS for since in asking.values())
            if slow >= most:
                return False
            asking[get_ident()] = now
            return True

    def leave(self, chain: str) -> None:
        """Stop asking."""
        with self._lock:
            self._since[chain].pop(get_ident(), None)


_places: Final = _Places()
_askers: Final = _Askers()


def has_place(chain: str) -> bool:
    """Return whether one more request may wait for a chain."""
    return _places.is_free(chain)


def longest_pause(spec: ChainSpec, *, questions: int = 1, waiting: int | None = None) -> float:
    """Return the seconds between two looks of a waiting request, which send this many requests.

    All waiting requests of this process together use a quarter of a public node's limit.
    """
    often = spec.block_seconds / _LOOKS_IN_A_BLOCK
    if spec.is_local:
        return often
    if waiting is None:
        waiting = max(_places.count(spec.name), 1)
    return max(often, questions * waiting * _SHARE * 60 / spec.requests_per_minute)


@contextmanager
def asking(chain: str) -> Iterator[bool]:
    """Count this thread as asking a chain's nodes during the block; yield False if too many hang already."""
    if not _askers.enter(chain):
        yield False
        return
    try:
        yield True
    finally:
        _askers.leave(chain)
