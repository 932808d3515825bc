"""Waits for a chain's next block. One thread per process polls for all waiting requests."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Final

import structlog

from wallets.chains.adapters import open_pool
from wallets.chains.base import ChainError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec

log = structlog.get_logger(__name__)


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
