"""The open pages: reads what changed on them when the database's bell rings, and wakes their streams."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson
import structlog
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from accounts.states import Mode
from checkouts.lifecycle.bells import PAGES, rung_ids
from checkouts.models import Checkout
from checkouts.page.news import HELD, ITEMS, RELAYED, RETURNED, SUCCESSOR
from checkouts.states import CheckoutStatus
from gateway.core import bell
from wallets.disruptions import Disruption, worst_by_chain
from wallets.networks import chain_spec
from wallets.states import TransferState
from wallets.transfers.doubts import DOUBTED

log = structlog.get_logger(__name__)

_FACTS = f"""
    SELECT c.id, c.mode, c.status, c.exception, c.amount_received::text, c.expires_at,
           ARRAY(SELECT jsonb_object_keys(c.offers)),
           (SELECT max(r.id) FROM checkouts_amountreservation r
            WHERE r.checkout_id = c.id AND r.released_at IS NULL),
           (SELECT json_agg(json_build_array(t.id, t.state, t.chain, k.head - t.block_height + 1, COALESCE({DOUBTED}, false),
                                             COALESCE(b.returned, 0)::text)
                            ORDER BY t.id)::text
            FROM checkouts_payment p
            JOIN wallets_transfer t ON t.id = p.transfer_id
            LEFT JOIN wallets_chaincursor k ON k.chain = t.chain
            LEFT JOIN wallets_transferreturn b ON b.transfer_id = t.id
            WHERE p.checkout_id = c.id),
           (SELECT json_agg(json_build_array(i.id, i.status, COALESCE({DOUBTED}, false), {RETURNED}) ORDER BY i.id)::text
            FROM {ITEMS}),
           {HELD}, {SUCCESSOR}, {RELAYED}
    FROM checkouts_checkout c
    WHERE c.id = ANY(%s::bigint[])
"""  # noqa: S608 - a constant condition
_TAKES_MONEY = {CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID}

TICK_SECONDS = 1.0
# Every page is read again within this many ticks, because a bell may be missed; a part at each tick, so that a change of
# all pages, such as a failing chain, does not read all of them at once.
SLICES = 10


class SeenTransfer(NamedTuple):
    """A credited transfer; its confirmations are capped at those required, as on the page."""

    id: int
    state: str
    confirmations: int
    required: int
    is_doubted: bool
    # What refunds sent back of it, in base units.
    returned: str = "0"


class PageFacts(NamedTuple):
    """Everything on a page that changes without the buyer's action. Equal facts render equal pages for equal choices."""

    status: CheckoutStatus
    exception: str
    received: str
    is_over: bool
    reservation: int | None
    transfers: tuple[SeenTransfer, ...]
    # What disrupts each offered chain.
    chains: tuple[tuple[str, Disruption | None], ...]
    # Money in the inbox that the page tells of, as JSON, and whether its own is in escrow.
    told: str = ""
    is_held: bool = False
    successor: str | None = None
    # What became of what the buyer signed for us to send, as JSON, and whether its time is over.
    relayed: str | None = None
    is_relay_over: bool = False

    @property
    def is_counting(self) -> bool:
        """Whether each new block may change it."""
        return any(
            transfer.state == TransferState.DETECTED and transfer.confirmations < transfer.required
            for transfer in self.transfers
        )


def find_page(code: str) -> int | None:
    """Return a checkout's id; None for an unknown code."""
    return Checkout.objects.filter(code=code).values_list("pk", flat=True).first()


def read_facts(checkout_ids: Sequence[int]) -> dict[int, PageFacts]:
    """Return the current facts of these checkouts, by id. Raises DatabaseError."""
    now = timezone.now()
    disruptions = worst_by_chain(now=now)
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, [list(checkout_ids)])
        return {row[0]: _facts(row, disruptions, now) for row in cursor}


def _facts(row: tuple[Any, ...], disruptions: Mapping[str, Disruption], now: datetime) -> PageFacts:
    _, mode, status, exception, received, expires_at, offered, reservation, seen, told, is_held, *rest = row
    successor, relayed, signed_until = rest
    # Simulated money does not depend on the chains' state.
    depends_on_chains = mode == Mode.LIVE and status in _TAKES_MONEY
    return PageFacts(
        status=CheckoutStatus(status),
        exception=exception,
        received=received,
        is_over=now >= expires_at,
        reservation=reservation,
        transfers=tuple(_seen(*one) for one in orjson.loads(seen or b"[]")),
        chains=tuple((chain, disruptions.get(chain)) for chain in sorted(offered)) if depends_on_chains else (),
        told=told or "",
        is_held=is_held,
        successor=successor,
        relayed=relayed,
        is_relay_over=signed_until is not None and now >= signed_until,
    )


def _seen(transfer_id: int, state: str, chain: str, count: int | None, is_doubted: bool, returned: str) -> SeenTransfer:
    required = chain_spec(chain).confirmations
    counted = min(max(count or 0, 0), required)
    return SeenTransfer(transfer_id, state, counted, required, is_doubted, returned)


Read = Callable[[Sequence[int]], Awaitable[Mapping[int, PageFacts]]]


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

    async def listen(self) -> None:
        """Mark the pages whose bell rings; until cancelled."""
        # Bells without a connection were missed.
        await bell.listen(PAGES, lambda notice: self.ring(rung_ids(notice)), connected=self.ring_all)

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
