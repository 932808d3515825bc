"""The sender: takes due deliveries, POSTs them, and records the results."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils import timezone

from gateway.core import bell
from gateway.core.tracing import step
from webhooks.delivery import claims
from webhooks.delivery.attempts import AttemptOutcome, record
from webhooks.delivery.claims import ENDPOINT_ROOM, Batch, Claimed, Demand, Room, Work, claim_batch
from webhooks.delivery.formats import Request, judged, most_lanes, request_of
from webhooks.delivery.transport import Response, Transport
from webhooks.health import PROBATION_AFTER, UNTOLD, AttemptResult
from webhooks.outbox.events import BELL

log = structlog.get_logger(__name__)

LINGER_SECONDS = 2.0

T = TypeVar("T")
# Renewed well before it ends, so it may be shorter than a POST: a dead sender delays its endpoints by this long.
LEASE = timedelta(seconds=15)
# The share of a lease that is left when it is renewed.
_RENEW_AT = 0.7
_POLL_SECONDS = 1.0
_PAUSE_SECONDS = 1.0
_RECORDED_AT_ONCE = 500
# Requests still in flight this long after a stop are abandoned; another sender repeats them.
_GRACE_SECONDS = 8.0
_NOTHING_SENT = Response(AttemptResult(None, error=UNTOLD), {})


@dataclass(slots=True)
class Served:
    """An endpoint that this process has leased. `held` are deliveries in memory until they are recorded."""

    endpoint: int
    merchant: int
    queue: deque[Work] = field(default_factory=deque)
    held: set[int] = field(default_factory=set)
    lanes: int = 0
    failures: int = 0
    # Whether the database calls it on probation, or will. A probe's success ends that only once it is recorded.
    on_probation: bool = False
    # Whether the database may have more deliveries for it than were read.
    wants_more: bool = False
    used_at: float = field(default_factory=time.monotonic)

    def accept(self, work: Iterable[Work]) -> None:
        """Queue work that was read for this endpoint."""
        for item in work:
            if not self.held:
                # With nothing unrecorded, the database's health is the newest.
                self.failures = item.claimed.endpoint_failures
                self.on_probation = self.failures >= PROBATION_AFTER
            self.queue.append(item)
            self.held.add(item.claimed.delivery)
        self.used_at = time.monotonic()

    def missing_lanes(self) -> int:
        """Return how many lanes to open for what is queued."""
        if not self.queue:
            return 0
        return min(most_lanes(self.queue[0].claimed.format) - self.lanes, len(self.queue))

    def note(self, answer: AttemptResult) -> bool:
        """Count an ended attempt; return whether it is a success after failures.

        A 410 or the failure that begins probation empties the queue at once.
        """
        if answer.untold:
            return False
        was_failing = self.failures > 0
        self.failures = 0 if answer.succeeded else self.failures + 1
        if answer.gone:
            self.failures = max(self.failures, PROBATION_AFTER)
        if self.failures >= PROBATION_AFTER:
            self.on_probation = True
            self.drop_queue()
        return was_failing

    def drop_queue(self) -> None:
        """Drop what was not sent; the database still has it."""
        self.wants_more = self.wants_more or bool(self.queue)
        while self.queue:
            self.held.discard(self.queue.popleft().claimed.delivery)

    def recorded(self, delivery: int) -> None:
        """Drop a delivery whose outcome is recorded."""
        self.held.discard(delivery)
        self.used_at = time.monotonic()

    def room(self) -> Room | None:
        """Return how much more to read; None to read nothing now."""
        awaits_verdict = self.on_probation and bool(self.held)
        if awaits_verdict or len(self.held) > ENDPOINT_ROOM // 2:
            self.wants_more = True
            return None
        self.wants_more = False
        return Room(ENDPOINT_ROOM - len(self.held), idle=not self.held)

    def is_idle(self, *, seconds: float = LINGER_SECONDS) -> bool:
        """Return whether nothing has been in flight for `seconds`."""
        return not self.held and time.monotonic() - self.used_at >= seconds


class Roster:
    """The endpoints a sender serves. Limits keep one merchant from using up all places."""

    MAX_ENDPOINTS = 400
    MAX_PER_MERCHANT = 100
    TAKEN_AT_ONCE = 50

    def __init__(self) -> None:
        self.served: dict[int, Served] = {}

    def free(self) -> int:
        """Return how many more endpoints to take at once."""
        return min(self.MAX_ENDPOINTS - len(self.served), self.TAKEN_AT_ONCE)

    def busy_merchants(self) -> list[int]:
        """Return the merchants that have their full share of this sender."""
        counts: dict[int, int] = {}
        for served in self.served.values():
            counts[served.merchant] = counts.get(served.merchant, 0) + 1
        return [key for key, count in counts.items() if count >= self.MAX_PER_MERCHANT]

    def add(self, taken: Mapping[int, int]) -> None:
        """Start serving endpoints (ids with their merchants'); what was read before of one that was taken away is dropped."""
        self.remove(taken)
        for endpoint, merchant in taken.items():
            self.served[endpoint] = Served(endpoint, merchant)

    def remove(self, endpoints: Collection[int]) -> None:
        """Stop serving endpoints; unsent deliveries are dropped."""
        for endpoint in endpoints:
            served = self.served.pop(endpoint, None)
            if served is not None:
                served.drop_queue()

    def pause(self, endpoints: Collection[int]) -> None:
        """Drop what was not sent to endpoints that were disabled. What is in flight stays held until it is recorded."""
        for endpoint in endpoints:
            self.served[endpoint].drop_queue()

    def pop_idle(self) -> list[int]:
        """Remove and return idle endpoints, at once when others need the places."""
        seconds = LINGER_SECONDS if self.free() else 0.0
        idle = [key for key, one in self.served.items() if one.is_idle(seconds=seconds)]
        self.remove(idle)
        return idle

    def rooms(self) -> dict[int, Room]:
        """Return how much to read for each endpoint."""
        rooms = {key: served.room() for key, served in self.served.items()}
        return {key: room for key, room in rooms.items() if room is not None}

    def held(self) -> list[int]:
        """Return every delivery in memory."""
        return [key for served in self.served.values() for key in served.held]


class WebhookSender:
    """One sender process. Any number may run in parallel."""

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        lease: timedelta = LEASE,
        poll_seconds: float = _POLL_SECONDS,
        clock: Callable[[], datetime] = timezone.now,
    ) -> None:
        self._transport = transport
        self._name = name
        self._lease = lease
        self._poll_seconds = poll_seconds
        self._clock = clock
        self._roster = Roster()
        self._after = 0
        self._leased_until = 0.0
        self._outcomes: list[AttemptOutcome] = []
        self._recovered: set[int] = set()
        self._lanes: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()
        self._done = asyncio.Event()
        self._stopping = False
        self._closing = False
        self._claims = ThreadPoolExecutor(1, "claims")
        self._records = ThreadPoolExecutor(1, "records")

    async def run(self) -> None:
        """Send until `stop` is called, then finish what is in flight."""
        try:
            # A failing helper ends all of them and the process: a restart is better than half a sender.
            async with asyncio.TaskGroup() as self._tasks:
                listening = self._tasks.create_task(self._listen())
                self._tasks.create_task(self._record_until_closed())
                await self._claim_until_stopped()
                listening.cancel()
                await self._finish_lanes()
                self._closing = True
                self._done.set()
        finally:
            await self._leave()

    def stop(self) -> None:
        """Stop taking deliveries. Call it in the event loop's thread."""
        self._stopping = True
        self._look.set()

    async def _claim_until_stopped(self) -> None:
        while not self._stopping:
            self._look.clear()
            if not await self._claim():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_seconds):
                        await self._look.wait()

    async def _listen(self) -> None:
        await bell.listen(BELL, lambda _: self._look.set(), connected=self._look.set)

    async def _claim(self) -> bool:
        """Claim once; return whether there may be more to take at once."""
        demand = self._demand()
        asked_at = time.monotonic()
        try:
            visit = partial(claim_batch, demand, now=self._clock())
            batch = await self._in_database(self._claims, visit)
        except (DatabaseError, InterfaceError) as error:
            log.warning("cannot claim webhooks", error=str(error))
            await asyncio.sleep(_PAUSE_SECONDS)
            return True
        if demand.renewed or not self._roster.served:
            self._leased_until = asked_at + self._lease.total_seconds()
        self._dispatch(batch)
        return len(batch.taken) == demand.limit > 0

    def _demand(self) -> Demand:
        roster = self._roster
        released = roster.pop_idle()
        left = self._leased_until - time.monotonic()
        renew = left < self._lease.total_seconds() * _RENEW_AT
        return Demand(
            sender=self._name,
            lease=self._lease,
            rooms=roster.rooms(),
            held=roster.held(),
            renewed=list(roster.served) if renew else (),
            released=released,
            limit=roster.free(),
            after=self._after,
            passed_over=roster.busy_merchants(),
        )

    def _dispatch(self, batch: Batch) -> None:
        self._after = batch.after
        self._roster.remove(batch.lost)
        self._roster.pause(batch.disabled)
        self._roster.add(batch.taken)
        for work in batch.work:
            served = self._roster.served.get(work.claimed.endpoint)
            if served is not None:
                served.accept([work])
        # What is held now does not tell: some of it was recorded since the visit began.
        for endpoint in batch.filled:
            if served := self._roster.served.get(endpoint):
                served.wants_more = True
        if not self._stopping:
            for served in self._roster.served.values():
                self._open_lanes(served)

    def _open_lanes(self, served: Served) -> None:
        for _ in range(served.missing_lanes()):
            served.lanes += 1
            lane = self._tasks.create_task(self._run_lane(served))
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)

    async def _run_lane(self, served: Served) -> None:
        while (work := self._next(served)) is not None:
            outcome = await self._send(work)
            if served.note(outcome.answer):
                self._recovered.add(served.endpoint)
            self._outcomes.append(outcome)
            self._done.set()
        served.lanes -= 1

    def _next(self, served: Served) -> Work | None:
        # A process that was frozen may wake up with work that others have taken over.
        if self._stopping or time.monotonic() >= self._leased_until:
            served.drop_queue()
        return served.queue.popleft() if served.queue else None

    async def _send(self, work: Work) -> AttemptOutcome:
        claimed = work.claimed
        started_at, started = self._clock(), time.monotonic()
        request: Request | None = Request(claimed.url, {})
        try:
            request = request_of(work, started_at)
            response = await self._post(request, claimed, started_at) if request else _NOTHING_SENT
        except Exception:  # a lane that dies would keep its endpoint waiting for ever
            log.exception("a webhook could not be sent", delivery=claimed.delivery_id)
            response = Response(AttemptResult(None, error="internal"), {})
        return AttemptOutcome(
            claimed=claimed,
            answer=judged(response.answer, claimed.format),
            started_at=started_at,
            duration=timedelta(seconds=time.monotonic() - started),
            request_headers=request.shown_headers if request else {},
            response_headers=response.headers,
            response_body=response.body,
        )

    async def _post(self, request: Request, claimed: Claimed, now: datetime) -> Response:
        with step("webhook sent", claimed.subject_id or claimed.event_id):
            return await self._transport.post(request.url, request.body, request.headers, now=now)

    async def _record_until_closed(self) -> None:
        while not (self._closing and not self._outcomes):
            if not self._outcomes:
                self._done.clear()
                await self._done.wait()
            batch = self._outcomes[:_RECORDED_AT_ONCE]
            del self._outcomes[:_RECORDED_AT_ONCE]
            if batch:
                recovered, self._recovered = self._recovered, set()
                await self._record(batch, recovered)
                self._forget(batch)

    async def _record(self, batch: Sequence[AttemptOutcome], recovered: set[int]) -> None:
        write = partial(record, batch, troubled=recovered)
        while True:
            try:
                await self._in_database(self._records, write)
                return
            except (OperationalError, InterfaceError) as error:
                log.warning("cannot record webhook tries", error=str(error))
                if self._closing:
                    return
                await asyncio.sleep(_PAUSE_SECONDS)
            except DatabaseError:
                log.exception("a webhook try cannot be recorded", tries=len(batch))
                break
        # One row that cannot be written must not block the others.
        for outcome in batch if len(batch) > 1 else ():
            await self._record([outcome], recovered)

    def _forget(self, batch: Sequence[AttemptOutcome]) -> None:
        for outcome in batch:
            served = self._roster.served.get(outcome.claimed.endpoint)
            if served is None:
                continue
            served.recorded(outcome.claimed.delivery)
            if served.wants_more and served.room() is not None:
                self._look.set()

    async def _finish_lanes(self) -> None:
        if self._lanes:
            _, late = await asyncio.wait(self._lanes, timeout=_GRACE_SECONDS)
            for lane in late:
                lane.cancel()

    async def _leave(self) -> None:
        served = list(self._roster.served)
        try:
            give_back = partial(claims.release, self._name, served)
            await self._in_database(self._claims, give_back)
        except (DatabaseError, InterfaceError) as error:
            log.warning("leases left to end by themselves", error=str(error))
        for threads in (self._claims, self._records):
            await self._in_database(threads, _disconnect)
            threads.shutdown()

    async def _in_database(self, threads: ThreadPoolExecutor, query: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, _on_good_connection, query)


def _on_good_connection(query: Callable[[], T]) -> T:
    try:
        return query()
    except (OperationalError, InterfaceError):
        # The server may be gone; the next query begins with a new connection.
        connection.close()
        raise


def _disconnect() -> None:
    # `connection` differs by thread, so the thread itself must look it up.
    connection.close()
