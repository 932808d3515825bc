"""Reading one chain, pass by pass. A pass does one thing and writes it in one transaction, or nothing."""

import time
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Final

import structlog

from wallets import ingest
from wallets.chains.base import (
    BlockAdapter,
    ChainError,
    ChainUnavailableError,
    Head,
    RangeTooLargeError,
    Reading,
    ReorgDuringReadError,
)
from wallets.chains.evm import NEAR_TIP
from wallets.chains.registry import ChainSpec
from wallets.factory import FactoryError, Rpc, check_factory
from wallets.ingest import Owners
from wallets.leases import (
    LEASE_SECONDS,
    LONGEST_LEASE_SECONDS,
    Lease,
    record_failure,
    release_lease,
    take_lease,
)
from wallets.models import Block
from wallets.reorgs import find_fork, reaches_down_to, stored_hash
from wallets.selectors import watched_keys

log = structlog.get_logger(__name__)

LARGEST_WINDOW: Final = 2_000
_FACTORY_RETRY_SECONDS: Final = 10.0
# After this many whole windows a provider's limit is put to the test again.
_CEILING_LIFE: Final = 100


class Outcome(Enum):
    """What a pass came to, which says how soon the next one should be."""

    AHEAD = "there is more to read"
    IDLE = "read to the head"
    STANDBY = "another watcher reads this chain"
    HALTED = "the chain waits for a person"


class Watcher:
    """Reads one chain while it has the lease. `rpc` asks the same nodes as the adapter."""

    def __init__(
        self,
        spec: ChainSpec,
        adapter: BlockAdapter,
        *,
        rpc: Rpc,
        owner: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spec = spec
        self._adapter = adapter
        self._rpc = rpc
        self._owner = owner
        self._clock = clock
        self._identified_fence: int | None = None
        self._factory_due = 0.0
        self._ceiling = LARGEST_WINDOW
        self._windows_since = 0
        self._lease_seconds = LEASE_SECONDS

    def tick(self, *, now: datetime) -> Outcome:
        """Do one pass, begun at `now`. Raises ChainError, after writing it down, and LeaseLostError."""
        lease = take_lease(self.spec.name, self._owner, seconds=self._lease_seconds)
        if lease is None:
            return Outcome.STANDBY
        if lease.halted_reason:
            return Outcome.HALTED
        begun = self._clock()
        try:
            return self._pass(lease, now)
        except ChainError as error:
            # A node that failed may have been replaced by another.
            self._identified_fence = None
            record_failure(lease, str(error), now=now)
            raise
        finally:
            self._allow_for(self._clock() - begun)

    def _allow_for(self, seconds: float) -> None:
        """Ask for a lease that outlasts such passes, or watchers on slow nodes would take it from each other for ever."""
        self._lease_seconds = min(
            max(LEASE_SECONDS, 2 * seconds), LONGEST_LEASE_SECONDS
        )

    def stop(self) -> None:
        """Give the lease back."""
        release_lease(self.spec.name, self._owner)

    def close(self) -> None:
        """Close the connections to the nodes."""
        self._adapter.close()

    def _pass(self, lease: Lease, now: datetime) -> Outcome:
        head = self._adapter.head()
        if self._identified_fence != lease.fence:
            if not self._is_same_chain(lease, now):
                return Outcome.AHEAD
            self._identified_fence = lease.fence
        self._look_for_factory(lease)
        if lease.height is None:
            return self._begin(lease, head)
        if (head.block.height, head.block.hash) == (lease.height, lease.block_hash):
            final = self._adapter.final_height(head, read_height=lease.height)
            ingest.commit_idle(lease, self.spec, head=head, final_height=final, now=now)
            return Outcome.IDLE
        if head.block.height <= lease.height:
            return self._at_or_behind(lease, lease.height, head, now)
        return self._read_next(lease, lease.height + 1, head, now)

    def _begin(self, lease: Lease, head: Head) -> Outcome:
        start = self.spec.start_block
        if start is not None:
            ingest.begin_at_height(lease, start - 1)
            return Outcome.AHEAD
        # A few blocks back, so that a fork of the first ones has something to be compared with.
        first = max(head.block.height - self.spec.confirmations, 0)
        [block] = self._adapter.blocks([first])
        ingest.begin(lease, block)
        return Outcome.AHEAD

    def _at_or_behind(
        self, lease: Lease, height: int, head: Head, now: datetime
    ) -> Outcome:
        """Deal with a head that is not above the cursor: a node that lags, or a chain that lost its tip."""
        if not lease.block_hash:
            return self._adopt(lease, height, head)
        known = (
            lease.block_hash
            if head.block.height == height
            else stored_hash(self.spec.name, head.block.height)
        )
        if known == head.block.hash:
            # It will grow past us again; until then nothing is known to be read to the end.
            return Outcome.IDLE
        if known is None and not reaches_down_to(self.spec.name, head.block.height):
            # A spare node that is far behind, most likely: nothing says that the chain forked.
            raise ChainUnavailableError(
                f"the nodes know no block above {head.block.height}"
            )
        return self._follow_fork(lease, height, head, now)

    def _adopt(self, lease: Lease, height: int, head: Head) -> Outcome:
        """Take the head for the block after which we were told to begin, once the chain is that long."""
        if head.block.height < height:
            return Outcome.IDLE
        ingest.begin(lease, head.block)
        return Outcome.AHEAD

    def _read_next(
        self, lease: Lease, first: int, head: Head, now: datetime
    ) -> Outcome:
        last = _window_end(first, lease.window, head.block.height)
        owners = Owners(self.spec.name)
        try:
            reading = self._adapter.read(
                first,
                last,
                head=head,
                # Asked after the head: an address given out later cannot have been paid in these blocks.
                hint=watched_keys(self.spec.name, now=now),
                ours=owners.ours,
            )
        except RangeTooLargeError:
            if lease.window == 1:
                raise
            self._shrink(lease)
            return Outcome.AHEAD
        if lease.block_hash and reading.parent_hash != lease.block_hash:
            return self._follow_fork(lease, first - 1, head, now)
        self._commit(lease, reading, owners, head, now)
        return Outcome.AHEAD if last < head.block.height else Outcome.IDLE

    def _commit(
        self, lease: Lease, reading: Reading, owners: Owners, head: Head, now: datetime
    ) -> None:
        new = ingest.commit_reading(
            lease,
            self.spec,
            reading=reading,
            transfers=[owners.owned(transfer) for transfer in reading.transfers],
            head=head,
            final_height=self._adapter.final_height(head, read_height=reading.last),
            window=self._next_window(lease, reading),
            now=now,
        )
        if len(reading.transfers) != new:
            known = len(reading.transfers) - new
            log.info("transfers seen again", chain=self.spec.name, count=known)

    def _next_window(self, lease: Lease, reading: Reading) -> int:
        """Double after a window that was used whole, up to what the provider was seen to take."""
        if reading.last - reading.first + 1 < lease.window:
            return lease.window
        self._windows_since += 1
        if self._windows_since >= _CEILING_LIFE:
            self._ceiling, self._windows_since = LARGEST_WINDOW, 0
        return min(lease.window * 2, self._ceiling)

    def _shrink(self, lease: Lease) -> None:
        self._ceiling, self._windows_since = lease.window // 2, 0
        ingest.commit_window(lease, self._ceiling)
        log.info("smaller window", chain=self.spec.name, blocks=self._ceiling)

    def _follow_fork(
        self, lease: Lease, height: int, head: Head, now: datetime
    ) -> Outcome:
        """Go back to where the chain forked, or stop it where that is deeper than what we called final."""
        if not self._is_same_chain(lease, now):
            return Outcome.AHEAD
        [told] = self._adapter.blocks([head.block.height])
        if told.hash != head.block.hash:
            # The head may be that of a node which has just turned out to belong to another chain.
            raise ReorgDuringReadError("the head is not there any more")
        below = min(height, head.block.height)
        fork = find_fork(self._adapter, self.spec.name, below=below)
        if fork is None or fork.height <= height - self.spec.confirmations:
            self._halt(lease, fork, height)
            return Outcome.HALTED
        if fork.height == height:
            raise ReorgDuringReadError("two nodes are on different forks")
        lost = ingest.rewind(lease, fork, now=now)
        depth = height - fork.height
        log.warning("reorganisation", chain=self.spec.name, depth=depth, transfers=lost)
        return Outcome.AHEAD

    def _halt(self, lease: Lease, fork: Block | None, height: int) -> None:
        depth = "unknown depth" if fork is None else f"depth {height - fork.height}"
        reason = f"reorganisation of {depth} at height {height}, deeper than final: see manage.py resume_chain"
        ingest.halt(lease, reason)
        log.error("chain halted", chain=self.spec.name, reason=reason)

    def _is_same_chain(self, lease: Lease, now: datetime) -> bool:
        """Compare the first block with the one we know; begin a local chain anew when it was replaced."""
        genesis = self._adapter.genesis()
        if lease.genesis_hash == genesis:
            return True
        if not lease.genesis_hash:
            ingest.remember_genesis(lease, genesis)
            return True
        if self.spec.is_local:
            lost = ingest.reset(lease, genesis, now=now)
            self._factory_due = 0.0
            log.warning("local chain began anew", chain=self.spec.name, transfers=lost)
            return False
        ingest.halt(lease, "the nodes serve another chain than the one read so far")
        log.error("chain halted: another genesis block", chain=self.spec.name)
        return False

    def _look_for_factory(self, lease: Lease) -> None:
        """Tell whether deposit addresses work here, so that web processes never have to ask a node."""
        # Its code cannot be taken away again: a node that misses it later lags or lies.
        if lease.factory_ok:
            return
        if self._clock() < self._factory_due:
            return
        is_there = True
        try:
            check_factory(self._rpc)
        except FactoryError as error:
            is_there = False
            log.warning("no factory", chain=self.spec.name, error=str(error))
        self._factory_due = self._clock() + _FACTORY_RETRY_SECONDS
        if is_there != lease.factory_ok:
            ingest.note_factory(lease, is_there=is_there)


def _window_end(first: int, window: int, head_height: int) -> int:
    """Where a window ends: far from the head it stops short of where blocks are read one by one."""
    if head_height - first >= NEAR_TIP:
        return min(first + window - 1, head_height - NEAR_TIP)
    return min(first + min(window, NEAR_TIP) - 1, head_height)
