"""A sender's in-memory state of the endpoints it serves."""

import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from webhooks.delivery.batches import ENDPOINT_ROOM, Work
from webhooks.delivery.claims import Room
from webhooks.health import PROBATION_AFTER
from webhooks.schedule import Answer

# Requests in flight to one endpoint.
LANES = 2
LINGER_SECONDS = 2.0


@dataclass(slots=True)
class Served:
    """An endpoint that this process has leased. `held` are deliveries in memory until they are recorded."""

    endpoint: int
    merchant: int
    queue: deque[Work] = field(default_factory=deque)
    held: set[int] = field(default_factory=set)
    lanes: int = 0
    failures: int = 0
    # Whether the database may have more deliveries for it than were read.
    wants_more: bool = False
    used_at: float = field(default_factory=time.monotonic)

    def accept(self, work: Iterable[Work]) -> None:
        """Queue work that was read for this endpoint."""
        for item in work:
            if not self.held:
                # With nothing unrecorded, the database's health is the newest.
                self.failures = item.claimed.endpoint_failures
            self.queue.append(item)
            self.held.add(item.claimed.delivery)
        self.used_at = time.monotonic()

    def missing_lanes(self) -> int:
        """Return how many lanes to open for what is queued."""
        return min(LANES - self.lanes, len(self.queue))

    def note(self, answer: Answer) -> bool:
        """Count an ended attempt; return whether it is a success after failures.

        A 410 or the failure that begins probation empties the queue at once.
        """
        was_failing = self.failures > 0
        self.failures = 0 if answer.succeeded else self.failures + 1
        if answer.gone:
            self.failures = max(self.failures, PROBATION_AFTER)
        if self.failures >= PROBATION_AFTER:
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
        awaits_verdict = self.failures >= PROBATION_AFTER and bool(self.held)
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
        """Start serving endpoints (ids with their merchants')."""
        for endpoint, merchant in taken.items():
            self.served[endpoint] = Served(endpoint, merchant)

    def remove(self, endpoints: Collection[int]) -> None:
        """Stop serving endpoints; unsent deliveries are dropped."""
        for endpoint in endpoints:
            served = self.served.pop(endpoint, None)
            if served is not None:
                served.drop_queue()

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
