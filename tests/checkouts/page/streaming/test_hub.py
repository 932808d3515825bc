"""The hub and a stream's end of it, in one event loop, without a network: what no real reader shows in reasonable time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from django.db import OperationalError

from checkouts.page.streaming import application, hub
from checkouts.page.streaming.application import PER_ADDRESS, Admission, StreamsFullError, _follow
from checkouts.page.streaming.hub import Hub, PageFacts, Stream
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import RateLimitError
from tests.waiting import PATIENCE_SECONDS

PENDING = PageFacts(CheckoutStatus.PENDING, "", "0", False, None, (), ())
SEEN = PENDING._replace(status=CheckoutStatus.PROCESSING)
OVER = PENDING._replace(status=CheckoutStatus.EXPIRED)


class Books:
    """What a database would answer, and how often it was asked."""

    def __init__(self, **facts: PageFacts) -> None:
        self.facts = {int(key[1:]): value for key, value in facts.items()}
        self.asked: list[list[int]] = []
        self.is_away = False
        self._was_asked = asyncio.Condition()

    async def await_questions(self, count: int) -> None:
        """Wait until so many were asked."""
        async with self._was_asked:
            await self._was_asked.wait_for(lambda: len(self.asked) >= count)

    async def read(self, checkout_ids: Sequence[int]) -> Mapping[int, PageFacts]:
        self.asked.append(list(checkout_ids))
        async with self._was_asked:
            self._was_asked.notify_all()
        if self.is_away:
            raise OperationalError
        return {one: self.facts[one] for one in checkout_ids}


def in_a_hub(books: Books, story: Callable[[Hub], Awaitable[None]], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Run a story beside a running hub."""

    async def run() -> None:
        running = Hub(books.read)
        work = asyncio.create_task(running.run())
        async with asyncio.timeout(seconds):
            await story(running)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    asyncio.run(run())


def test_pages_that_open_together_are_asked_for_together() -> None:
    books = Books(_1=PENDING, _2=PENDING, _3=PENDING)

    async def story(running: Hub) -> None:
        streams = [running.open(number) for number in (3, 1, 2)]
        for stream in streams:
            assert await stream.news() == PENDING

    in_a_hub(books, story)
    assert books.asked == [[1, 2, 3]]


def test_rings_for_pages_that_nobody_shows_ask_nothing() -> None:
    books = Books(_1=PENDING)

    async def story(running: Hub) -> None:
        stream = running.open(1)
        await stream.news()
        running.close(stream)
        running.ring([1, 2, 3])
        await asyncio.sleep(0)

    in_a_hub(books, story)
    assert books.asked == [[1]]


def test_a_ring_that_changes_nothing_tells_nothing() -> None:
    books = Books(_1=PENDING, _2=PENDING)

    async def story(running: Hub) -> None:
        quiet, other = running.open(1), running.open(2)
        await quiet.news()
        await other.news()
        books.facts[2] = SEEN
        running.ring([1, 2])
        assert await other.news() == SEEN
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(quiet.news(), 0.05)

    in_a_hub(books, story)


def test_a_database_that_is_away_is_asked_again_with_the_next_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "TICK_SECONDS", 0.01)
    books = Books(_1=PENDING)
    books.is_away = True

    async def story(running: Hub) -> None:
        stream = running.open(1)
        await books.await_questions(2)
        books.is_away = False
        assert await stream.news() == PENDING

    in_a_hub(books, story)


def test_a_page_that_nobody_foresaw_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "TICK_SECONDS", 0.01)
    books = Books(_1=PENDING)

    async def story(running: Hub) -> None:
        strange = running.open(2)
        await books.await_questions(1)
        other = running.open(1)
        running.close(strange)
        assert await other.news() == PENDING

    in_a_hub(books, story)


def test_every_page_is_swept_within_ten_ticks_and_each_tick_takes_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "TICK_SECONDS", 0.01)
    books = Books(**{f"_{number}": PENDING for number in range(100)})

    async def story(running: Hub) -> None:
        for stream in [running.open(number) for number in range(100)]:
            await stream.news()
        await books.await_questions(11)

    in_a_hub(books, story)
    opening, *ticks = books.asked[:11]
    assert len(opening) == 100
    assert [len(tick) for tick in ticks] == [10] * 10
    assert {one for tick in ticks for one in tick} == set(range(100))


def test_a_reader_that_takes_nothing_holds_up_nobody_and_gets_the_latest_alone() -> None:
    books = Books(_1=PENDING)
    sent: list[bytes] = []

    async def story(running: Hub) -> None:
        takes_again, has_both = asyncio.Event(), asyncio.Event()

        async def stuck(message: dict[str, Any]) -> None:
            await takes_again.wait()
            sent.append(message["body"])
            if len(sent) == 2:
                has_both.set()

        slow, quick = running.open(1), running.open(1)
        following = asyncio.create_task(_follow(slow, stuck))
        for facts in (PENDING, SEEN, PENDING, OVER):
            books.facts[1] = facts
            running.ring([1])
            assert await quick.news() == facts
        takes_again.set()
        await has_both.wait()
        slow.end()
        await following

    in_a_hub(books, story)
    assert [b"pending" in body for body in sent] == [True, False]
    assert b"expired" in sent[-1]


def test_a_reader_that_never_takes_anything_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "SEND_SECONDS", 0.01)

    async def never(_: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async def story() -> None:
        stream = Stream(1)
        stream.tell(PENDING)
        with pytest.raises(TimeoutError):
            await _follow(stream, never)

    asyncio.run(story())


def test_a_stream_without_news_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "BEAT_SECONDS", 0.01)
    sent: list[bytes] = []

    async def story() -> None:
        stream = Stream(1)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message["body"])
            if len(sent) == 3:
                stream.end()

        async with asyncio.timeout(PATIENCE_SECONDS):
            await _follow(stream, send)

    asyncio.run(story())
    assert sent == [b"event: beat\ndata: 1\n\n"] * 3


def test_one_address_has_a_hundred_streams_whatever_the_pages() -> None:
    admission = Admission(10_000)
    admitted = [admission.admit(page, "192.0.2.1") for page in range(PER_ADDRESS)]
    for one in admitted:
        one.__enter__()
    with pytest.raises(RateLimitError), admission.admit(-1, "192.0.2.1"):
        pass
    with admission.admit(-1, "192.0.2.2"):
        pass
    for one in admitted:
        one.__exit__(None, None, None)
    with admission.admit(-1, "192.0.2.1"):
        pass
    assert not admission._counts


def test_a_refused_stream_is_not_counted() -> None:
    admission = Admission(1)
    with admission.admit(1, "a"):
        for _ in range(3):
            with pytest.raises(StreamsFullError), admission.admit(2, "b"):
                pass
    with admission.admit(2, "b"):
        pass
