"""Threads: few while jobs are quick, more while some take long, and few again after that."""

import asyncio
import weakref
from functools import partial
from threading import Condition, Event

import pytest

from gateway.server import threads
from gateway.server.threads import QUICK, Threads
from tests.waiting import PATIENCE_SECONDS, wait_until

SECONDS = PATIENCE_SECONDS


class Jobs:
    """Jobs that run until they are let go. Counts those that have begun, and how many ran at once."""

    def __init__(self, pool: Threads) -> None:
        self.pool = pool
        self.go: list[Event] = []
        self.begun = self.running = self.most = 0
        self._counts = Condition()

    def add(self, number: int) -> list["asyncio.Future[None]"]:
        """Hand over so many jobs."""
        return [self._add() for _ in range(number)]

    def _add(self) -> "asyncio.Future[None]":
        go = Event()
        self.go.append(go)

        def job() -> None:
            with self._counts:
                self.begun += 1
                self.running += 1
                self.most = max(self.most, self.running)
                self._counts.notify()
            assert go.wait(SECONDS)
            with self._counts:
                self.running -= 1

        return self.pool.run(job)

    async def have_begun(self, number: int, *, within: float = SECONDS) -> bool:
        """Wait until so many have begun in all; return whether they have."""
        return await asyncio.to_thread(self._have_begun, number, within)

    def _have_begun(self, number: int, seconds: float) -> bool:
        with self._counts:
            return self._counts.wait_for(lambda: self.begun >= number, seconds)

    async def finish(self, waited: list["asyncio.Future[None]"]) -> None:
        """Let all go, and wait for them."""
        for go in self.go:
            go.set()
        await asyncio.wait_for(asyncio.gather(*waited), SECONDS)


def started(most: int) -> Jobs:
    pool = Threads(most=most)
    pool.start(asyncio.get_running_loop())
    return Jobs(pool)


def no_job_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONG_SECONDS", float("inf"))


def test_quick_jobs_have_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    no_job_takes_long(monkeypatch)

    async def check() -> None:
        jobs = started(4 * QUICK)
        waited = jobs.add(4 * QUICK)
        assert await jobs.have_begun(QUICK)
        await jobs.finish(waited)
        assert (jobs.begun, jobs.most) == (4 * QUICK, QUICK)

    asyncio.run(check())


def test_a_job_does_not_wait_for_long_ones() -> None:
    async def check() -> None:
        jobs = started(4 * QUICK)
        waited = jobs.add(4 * QUICK)
        assert await jobs.have_begun(4 * QUICK)
        await jobs.finish(waited)

    asyncio.run(check())


def test_if_no_job_counts_as_long_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    no_job_takes_long(monkeypatch)

    async def check() -> None:
        jobs = started(4 * QUICK)
        waited = jobs.add(QUICK + 1)
        assert not await jobs.have_begun(QUICK + 1, within=0.2)
        await jobs.finish(waited)

    asyncio.run(check())


def test_there_are_never_more_than_allowed() -> None:
    async def check() -> None:
        jobs = started(QUICK + 2)
        waited = jobs.add(3 * QUICK)
        assert await jobs.have_begun(QUICK + 2)
        await jobs.finish(waited)
        assert (jobs.begun, jobs.most) == (3 * QUICK, QUICK + 2)

    asyncio.run(check())


@pytest.mark.parametrize("long", [QUICK, 4 * QUICK, 5 * QUICK])
def test_after_long_jobs_there_are_few_again(monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    async def check() -> None:
        jobs = started(4 * QUICK)
        waited = jobs.add(long)
        assert await jobs.have_begun(min(long, 4 * QUICK))
        await jobs.finish(waited)
        no_job_takes_long(monkeypatch)
        # Threads that were replaced rest only after their next job.
        await jobs.finish(jobs.add(8 * QUICK))
        jobs.most, before = 0, jobs.begun
        waited = jobs.add(4 * QUICK)
        assert await jobs.have_begun(before + QUICK)
        await jobs.finish(waited)
        assert jobs.most == QUICK

    asyncio.run(check())


def test_an_error_is_raised_where_the_job_is_waited_for() -> None:
    def fail() -> None:
        raise KeyError("told")

    async def check() -> None:
        jobs = started(1)
        with pytest.raises(KeyError, match="told"):
            await jobs.pool.run(fail)
        assert await jobs.pool.run(lambda: 7) == 7

    asyncio.run(check())


def test_a_resting_thread_keeps_nothing_of_its_last_job() -> None:
    async def check() -> None:
        pool = started(1).pool
        held = Jobs(pool)
        known = weakref.ref(held)
        # Its only thread rests after this job.
        pool._workers[0].is_replaced = True
        await pool.run(partial(repr, held))
        del held
        await asyncio.to_thread(wait_until, lambda: known() is None)

    asyncio.run(check())
