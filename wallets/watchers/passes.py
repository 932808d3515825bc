"""The base of all watchers' passes: lease, idle pauses, failures, and the check of the chain's identity."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum

import structlog

from wallets.chains.base import ChainAdapter, ChainError, Head
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.client import Call
from wallets.watchers import ingest
from wallets.watchers.budget import Meter
from wallets.watchers.demand import idle_seconds, is_expected
from wallets.watchers.ingest import Pulse
from wallets.watchers.leases import (
    LEASE_SECONDS,
    LONGEST_LEASE_SECONDS,
    Lease,
    record_failure,
    release_lease,
    take_lease,
)

log = structlog.get_logger(__name__)


class PassOutcome(Enum):
    """A pass's outcome, which determines the next pass's time."""

    AHEAD = "there is more to read"
    IDLE = "read to the head"
    NOT_DUE = "not due yet"
    STANDBY = "another watcher reads this chain"
    HALTED = "the chain waits for a person"


class ChainWatcher(ABC):
    """Reads one chain under the lease. A pass does one thing and writes it in one transaction, or nothing."""

    def __init__(
        self, spec: ChainSpec, adapter: ChainAdapter, *, owner: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.spec = spec
        self._chain = adapter
        self._owner = owner
        self._clock = clock
        self._meter = Meter(spent=lambda: adapter.requests, clock=clock)
        # The fence under which the nodes were last checked to serve the known chain.
        self._identified_fence: int | None = None
        self._lease_seconds = LEASE_SECONDS
        # How long the next payment that the last pass found takes to be final, in seconds.
        self._to_final = math.inf

    def tick(self, *, now: datetime) -> PassOutcome:
        """Run one pass, begun at `now`. Raises ChainError, after recording it, and LeaseLostError."""
        lease = take_lease(self.spec.name, self._owner, seconds=self._lease_seconds)
        if lease is None:
            return PassOutcome.STANDBY
        if lease.halted_reason:
            return PassOutcome.HALTED
        if self._may_rest(lease, now):
            return PassOutcome.NOT_DUE
        begun = self._clock()
        self._to_final = math.inf
        try:
            return self._pass(lease, now)
        except ChainError as error:
            # A node that failed may have been replaced by another.
            self._identified_fence = None
            record_failure(lease, str(error), now=now)
            raise
        finally:
            self._allow_for(self._clock() - begun)

    def stop(self) -> None:
        """Release the lease."""
        release_lease(self.spec.name, self._owner)

    def close(self) -> None:
        """Close the connections to the nodes."""
        self._chain.close()

    def longest_pause(self, poll: float) -> float:
        """Return the pause after an idle pass, in seconds: less than a poll's if a payment that it found is final sooner."""
        return min(poll, self._to_final)

    def subscriptions(self) -> Sequence[Call]:
        """Return the JSON-RPC calls by which a node's WebSocket pushes what to read now."""
        call = self.spec.family.head_subscription
        return [call] if call else []

    @abstractmethod
    def _pass(self, lease: Lease, now: datetime) -> PassOutcome:
        """Run the pass itself, under the lease."""

    @abstractmethod
    def _began_anew(self) -> None:
        """Reset the state of a local chain that was reset."""

    def _may_rest(self, lease: Lease, now: datetime) -> bool:
        """Whether the next pass is not due and no payment is newly expected. Never before the first pass under a lease."""
        if self._identified_fence != lease.fence or lease.due_at is None:
            return False
        # A time further off was written by a wrong clock.
        latest = now + timedelta(seconds=idle_seconds(self.spec))
        if not now < lease.due_at <= latest:
            return False
        return not is_expected(self.spec, now=now)

    def _allow_for(self, seconds: float) -> None:
        """Request a lease that outlasts such passes; otherwise watchers on slow nodes would keep taking it from each other."""
        self._lease_seconds = min(max(LEASE_SECONDS, 2 * seconds), LONGEST_LEASE_SECONDS)

    def _pulse(self, head: Head, *, now: datetime, pause: float, reads: int = 1) -> Pulse:
        due_at = now + timedelta(seconds=pause)
        return Pulse(head, now, due_at, self._meter.usage(), reads)

    def _is_identified(self, lease: Lease, now: datetime) -> bool:
        """Check, once per lease and after each failure, that the nodes serve the known chain."""
        if self._identified_fence == lease.fence:
            return True
        if not self._is_same_chain(lease, now):
            return False
        self._identified_fence = lease.fence
        return True

    def _is_same_chain(self, lease: Lease, now: datetime) -> bool:
        """Compare the first block with the known one; start again on a local chain that was reset."""
        genesis = self._chain.genesis()
        if lease.genesis_hash == genesis:
            return True
        if not lease.genesis_hash:
            ingest.remember_genesis(lease, genesis)
            return True
        if self.spec.is_local:
            lost = ingest.reset(lease, genesis, now=now)
            self._began_anew()
            log.warning("local chain began anew", chain=self.spec.name, transfers=lost)
            return False
        reason = "the nodes serve another chain than the one read so far"
        ingest.halt(lease, reason, now=now)
        log.error("chain halted: another genesis block", chain=self.spec.name)
        return False
