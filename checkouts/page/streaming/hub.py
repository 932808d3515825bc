"""The open pages, whose streams wake up when the page's facts change.

Everything here runs in one event loop. Reads run one after the other: a bell during a read is answered by the next.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from django.db import DatabaseError, InterfaceError

from checkouts.page.streaming.facts import PageFacts

log = structlog.get_logger(__name__)

Read = Callable[[Sequence[int]], Awaitable[Mapping[int, PageFacts]]]

TICK_SECONDS = 1.0
# Every page is read again within this many ticks, because a bell may be missed; a part at each tick, so that a change of
# all pages, such as a failing chain, does not read all of them at once.
SLICES = 10


class Stream:
    """An open stream. It stores only the newest state, so nothing accumulates for a slow reader."""

    def __init__(self, checkout_id: int) -> None:
        self.checkout_id = checkout_id
        self.is_over = False
        self.facts: PageFacts | None = None
        self._news = asyncio.Event()

    async def news(self) -> PageFacts | None:
        """Wait for news; None once the stream is over."""
        await self._news.wait()
        self._news.clear()
        return None if self.is_over else self.facts

    def tell(self, facts: PageFacts) -> None:
        """Set new facts to send."""
        self.facts = facts
        self._news.set()

    def end(self) -> None:
        """End the stream, wherever it waits."""
        self.is_over = True
        self._news.set()


@dataclass(slots=True)
class _Page:
    """A checkout with at least one open page."""

    streams: set[Stream] = field(default_factory=set)
    facts: PageFacts | None = None


class Hub:
    """The open pages of this process. `read` reads the facts of the given checkouts."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pages: dict[int, _Page] = {}
        self._rung: set[int] = set()
        self._bell = asyncio.Event()
        self._ticks = 0

    def open(self, checkout_id: int) -> Stream:
        """Open a stream; its first news is the page's current state."""
        stream = Stream(checkout_id)
        page = self._pages.setdefault(checkout_id, _Page())
        page.streams.add(stream)
        if page.facts is None:
            self.ring([checkout_id])
        else:
            stream.tell(page.facts)
        return stream

    def close(self, stream: Stream) -> None:
        """Remove a stream, and its page with the last one."""
        page = self._pages.get(stream.checkout_id)
        if page is None:
            return
        page.streams.discard(stream)
        if not page.streams:
            del self._pages[stream.checkout_id]

    def ring(self, checkout_ids: Iterable[int]) -> None:
        """Mark these checkouts for the next read; those without an open page are ignored."""
        shown = self._pages.keys() & set(checkout_ids)
        if shown:
            self._rung |= shown
            self._bell.set()

    def ring_all(self) -> None:
        """Mark every open page, after a time without a bell."""
        self.ring(list(self._pages))

    def end(self) -> None:
        """End all streams."""
        for page in self._pages.values():
            for stream in page.streams:
                stream.end()

    async def run(self) -> None:
        """Read whenever the bell rings, and once a tick without it; until cancelled."""
        loop = asyncio.get_running_loop()
        next_tick = loop.time() + TICK_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(next_tick):
                    await self._bell.wait()
            self._bell.clear()
            due, self._rung = self._rung, set()
            if loop.time() >= next_tick:
                next_tick = loop.time() + TICK_SECONDS
                due |= self._due_by_time()
            await self._look(due)

    def _due_by_time(self) -> set[int]:
        self._ticks += 1
        turn = self._ticks % SLICES
        return {
            checkout_id
            for checkout_id, page in self._pages.items()
            if checkout_id % SLICES == turn or page.facts is None or page.facts.is_counting
        }

    async def _look(self, checkout_ids: set[int]) -> None:
        shown = sorted(self._pages.keys() & checkout_ids)
        if not shown:
            return
        try:
            found = await self._read(shown)
        except (DatabaseError, InterfaceError) as error:
            log.warning("cannot look at open pages", error=type(error).__name__)
            # Does not wait for the bell: a server that is down is asked again at the next tick.
            self._rung |= set(shown)
        except Exception:
            # Any error must leave the other pages working; the sweep reads these pages again.
            log.exception("cannot look at open pages")
        else:
            for checkout_id, facts in found.items():
                self._compare(checkout_id, facts)

    def _compare(self, checkout_id: int, facts: PageFacts) -> None:
        page = self._pages.get(checkout_id)
        if page is None or page.facts == facts:
            return
        page.facts = facts
        for stream in page.streams:
            stream.tell(facts)
