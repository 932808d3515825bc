"""Runs jobs in threads: a few while each job is quick, and more while some take long.

Threads share the interpreter's lock, so few finish quick jobs sooner than many. But a few alone could all be held by slow queries.
"""

import asyncio
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

T = TypeVar("T")

QUICK: Final = 6
"""How many threads take jobs while each job is quick. `benchmarks/profiles.md` compares numbers."""

_LONG_SECONDS: Final = 0.025
_LOOK_SECONDS: Final = 0.01


class _Worker:
    """A thread that takes jobs. `since` is the start of its job by the monotonic clock, None without one."""

    __slots__ = ("is_replaced", "since")

    def __init__(self) -> None:
        self.since: float | None = None
        self.is_replaced = False


class Threads:
    """At most `most` threads. While jobs wait, each thread whose job takes long is replaced by another one.

    After its job, a replaced thread is a spare: it waits until it replaces another one.
    """

    def __init__(self, *, most: int) -> None:
        self._quick = min(QUICK, most)
        self._workers = [_Worker() for _ in range(most)]
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = SimpleQueue()
        # One item for each thread that was replaced, taken by the thread that replaces it.
        self._places: SimpleQueue[None] = SimpleQueue()
        self._look: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads. Results are passed to `loop`."""
        self._loop = loop
        for _ in range(self._quick):
            self._places.put(None)
        for worker in self._workers:
            Thread(target=self._work, args=(worker,), daemon=True).start()

    def run(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        """Have a thread run `job`; return what becomes of it. Only for the loop's own thread."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((job, done))
        if self._look is None:
            self._look = self._loop.call_later(_LOOK_SECONDS, self._replace)
        return done

    def _replace(self) -> None:
        """Replace the threads whose jobs take long, and look again soon, while jobs wait."""
        self._look = None
        if self._jobs.empty():
            return
        started_before = time.monotonic() - _LONG_SECONDS
        for worker in self._workers:
            since = worker.since
            if since is not None and since < started_before and not worker.is_replaced:
                worker.is_replaced = True
                self._places.put(None)
        self._look = self._loop.call_later(_LOOK_SECONDS, self._replace)

    def _work(self, worker: _Worker) -> None:
        while True:
            self._places.get()
            worker.is_replaced = False
            while not worker.is_replaced:
                self._run_next(worker)

    def _run_next(self, worker: _Worker) -> None:
        """Run a job. In a function of its own, which keeps nothing of it while the thread rests."""
        job, done = self._jobs.get()
        worker.since = time.monotonic()
        call_soon = self._loop.call_soon_threadsafe
        try:
            result = job()
        except BaseException as error:  # noqa: BLE001 - it is raised where the job is waited for
            call_soon(_fail, done, error)
        else:
            call_soon(_finish, done, result)
        worker.since = None


def _finish(done: "asyncio.Future[Any]", result: Any) -> None:
    if not done.cancelled():
        done.set_result(result)


def _fail(done: "asyncio.Future[Any]", error: BaseException) -> None:
    if not done.cancelled():
        done.set_exception(error)
