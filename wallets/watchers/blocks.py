"""Watches a chain block by block. A pass does one thing, and writes it in one transaction or not at all.

Far from the head it reads ranges, whose size follows what the provider accepts; near the head block by block and by hash. A block
that cannot be read completely raises, and the cursor stays. If a parent's hash differs, the watcher walks back to the fork, orphans
the transfers above it and rewinds. A fork below finality or another genesis block halts the chain until a person decides; a local
chain starts again.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import structlog

from wallets.chains.base import (
    BlockAdapter,
    ChainUnavailableError,
    Head,
    Hint,
    RangeTooLargeError,
    Reading,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.evm.adapter import NEAR_TIP
from wallets.chains.family import ChainSpec
from wallets.forwarders.factory import FactoryError, Rpc, check_factory
from wallets.models import Block
from wallets.selectors import watched_keys
from wallets.watchers import ingest
from wallets.watchers.demand import pause_seconds
from wallets.watchers.leases import Lease
from wallets.watchers.owners import Owners
from wallets.watchers.passes import ChainWatcher, PassOutcome

log = structlog.get_logger(__name__)

_COMPARED_AT_ONCE = 16

LARGEST_WINDOW: Final = 2_000
# After this many whole windows, a provider's limit is tested again.
_CEILING_LIFE: Final = 100

_FACTORY_RETRY_SECONDS: Final = 10.0


def find_fork(adapter: BlockAdapter, chain: str, *, below: int) -> Block | None:
    """Return the newest block at or below a height that we read and the chain still has; None if there is none.

    Raises ChainError.
    """
    stored = list(Block.objects.filter(chain=chain, height__lte=below).order_by("-height"))
    for start in range(0, len(stored), _COMPARED_AT_ONCE):
        part = stored[start : start + _COMPARED_AT_ONCE]
        present = adapter.blocks([block.height for block in part])
        for ours, theirs in zip(part, present, strict=True):
            if ours.hash == theirs.hash:
                return ours
    return None


def reaches_down_to(chain: str, height: int) -> bool:
    """Return whether the hash of any block at or below a height is stored."""
    return Block.objects.filter(chain=chain, height__lte=height).exists()


def stored_hash(chain: str, height: int) -> str | None:
    """Return the stored hash of a block; None if there is none."""
    return Block.objects.filter(chain=chain, height=height).values_list("hash", flat=True).first()


class WindowSize:
    """Halves when a provider refuses a window, and doubles up to the known limit."""

    def __init__(self) -> None:
        self._ceiling = LARGEST_WINDOW
        self._windows_since = 0

    def after_refusal(self, window: int) -> int:
        """Return how many blocks to ask for instead of `window`, which was refused."""
        self._ceiling, self._windows_since = window // 2, 0
        return self._ceiling

    def after_success(self, window: int, *, read: int) -> int:
        """Return how many blocks to ask for after `read` of a `window` were answered."""
        if read < window:
            return window
        self._windows_since += 1
        if self._windows_since >= _CEILING_LIFE:
            self._ceiling, self._windows_since = LARGEST_WINDOW, 0
        return min(window * 2, self._ceiling)


def window_end(first: int, window: int, *, head_height: int) -> int:
    """Return where a window ends: far from the head, it stops before the range that is read block by block."""
    if head_height - first >= NEAR_TIP:
        return min(first + window - 1, head_height - NEAR_TIP)
    return min(first + min(window, NEAR_TIP) - 1, head_height)


def read_window(
    adapter: BlockAdapter, first: int, last: int, *, head: Head, hint: Hint | None, owners: Owners
) -> Reading:
    """Read a window whole. Raises ChainError.

    The hint names as senders only addresses that were paid before. A deposit address paid in this window may also have been
    flushed in it; if so, the window is read once more for its outflows.
    """
    reading = adapter.read(first, last, head=head, hint=hint, ours=owners.ours)
    if hint is None:
        return reading
    told = reading.transfers
    fresh = owners.deposits_among({one.recipient_key for one in told} - hint.senders)
    if not fresh:
        return reading
    since = min(one.block_height for one in told if one.recipient_key in fresh)
    # By both sides: a header shows that an address is in its block, but not on which side.
    passed_on = adapter.read(since, last, head=head, hint=Hint(fresh, fresh), ours=owners.ours)
    return _merged(reading, passed_on)


def _merged(reading: Reading, more: Reading) -> Reading:
    if reading.blocks[-1].hash != more.blocks[-1].hash:
        raise ReorgDuringReadError("the chain forked while a window was read")
    blocks = {block.height: block for block in (*reading.blocks, *more.blocks)}
    return Reading(
        first=reading.first,
        last=reading.last,
        parent_hash=reading.parent_hash,
        blocks=[blocks[height] for height in sorted(blocks)],
        transfers=_once(reading.transfers, more.transfers),
    )


def _once(transfers: Sequence[TokenTransfer], more: Sequence[TokenTransfer]) -> list[TokenTransfer]:
    known = {(one.tx_hash, one.position) for one in transfers}
    return [*transfers, *(one for one in more if (one.tx_hash, one.position) not in known)]


class Watcher(ChainWatcher):
    """Reads one chain under the lease. `rpc` asks the same nodes as the adapter."""

    def __init__(
        self,
        spec: ChainSpec,
        adapter: BlockAdapter,
        *,
        rpc: Rpc,
        owner: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(spec, adapter, owner=owner, clock=clock)
        self._adapter = adapter
        self._rpc = rpc
        self._factory_due = 0.0
        self._sizes = WindowSize()

    def _pass(self, lease: Lease, now: datetime) -> PassOutcome:
        head = self._adapter.head()
        if not self._is_identified(lease, now):
            return PassOutcome.AHEAD
        self._look_for_factory(lease)
        if lease.height is None:
            return self._begin(lease, head)
        if (head.block.height, head.block.hash) == (lease.height, lease.block_hash):
            self._commit_idle(lease, lease.height, head, now)
            return PassOutcome.IDLE
        if head.block.height <= lease.height:
            return self._at_or_behind(lease, lease.height, head, now)
        return self._read_next(lease, lease.height + 1, head, now)

    def _begin(self, lease: Lease, head: Head) -> PassOutcome:
        start = self.spec.start_block
        if start is not None:
            ingest.begin_at_height(lease, start - 1)
            return PassOutcome.AHEAD
        # A few blocks back, so that a reorg of the first ones can be detected.
        first = max(head.block.height - self.spec.confirmations, 0)
        [block] = self._adapter.blocks([first])
        ingest.begin(lease, block)
        return PassOutcome.AHEAD

    def _at_or_behind(self, lease: Lease, height: int, head: Head, now: datetime) -> PassOutcome:
        """Handle a head that is not above the cursor: a lagging node, or a chain that lost its tip."""
        if not lease.block_hash:
            return self._adopt(lease, height, head)
        known = lease.block_hash if head.block.height == height else stored_hash(self.spec.name, head.block.height)
        if known == head.block.hash:
            # The node will catch up; until then the chain does not count as read to its head.
            return PassOutcome.IDLE
        if known is None and not reaches_down_to(self.spec.name, head.block.height):
            # Most likely a spare node that is far behind, not a reorg.
            raise ChainUnavailableError(f"the nodes know no block above {head.block.height}")
        return self._follow_fork(lease, height, head, now)

    def _adopt(self, lease: Lease, height: int, head: Head) -> PassOutcome:
        """Start after this block as configured, once the chain is that long."""
        if head.block.height < height:
            return PassOutcome.IDLE
        ingest.begin(lease, head.block)
        return PassOutcome.AHEAD

    def _read_next(self, lease: Lease, first: int, head: Head, now: datetime) -> PassOutcome:
        last = window_end(first, lease.window, head_height=head.block.height)
        owners = Owners(self.spec.name)
        try:
            reading = read_window(
                self._adapter,
                first,
                last,
                head=head,
                # Read after the head: an address given out later cannot have been paid in these blocks.
                hint=watched_keys(self.spec.name),
                owners=owners,
            )
        except RangeTooLargeError:
            if lease.window == 1:
                raise
            self._shrink(lease)
            return PassOutcome.AHEAD
        if lease.block_hash and reading.parent_hash != lease.block_hash:
            return self._follow_fork(lease, first - 1, head, now)
        self._commit(lease, reading, owners, head, now)
        return PassOutcome.AHEAD if last < head.block.height else PassOutcome.IDLE

    def _commit(self, lease: Lease, reading: Reading, owners: Owners, head: Head, now: datetime) -> None:
        is_last = reading.last == head.block.height
        pulse = self._pulse(head, now=now, pause=pause_seconds(self.spec, now=now) if is_last else 0.0)
        facts = owners.facts(reading.transfers)
        new = ingest.commit_reading(
            lease,
            self.spec,
            reading=reading,
            facts=facts,
            final_height=self._adapter.final_height(head, read_height=reading.last),
            window=self._sizes.after_success(lease.window, read=reading.last - reading.first + 1),
            pulse=pulse,
        )
        self._meter.wrote(pulse.usage)
        if len(facts.payments) != new:
            known = len(facts.payments) - new
            log.info("transfers seen again", chain=self.spec.name, count=known)

    def _commit_idle(self, lease: Lease, height: int, head: Head, now: datetime) -> None:
        pulse = self._pulse(head, now=now, pause=pause_seconds(self.spec, now=now), reads=0)
        final = self._adapter.final_height(head, read_height=height)
        ingest.commit_idle(lease, self.spec, final_height=final, pulse=pulse)
        self._meter.wrote(pulse.usage)

    def _shrink(self, lease: Lease) -> None:
        window = self._sizes.after_refusal(lease.window)
        ingest.commit_window(lease, window)
        log.info("smaller window", chain=self.spec.name, blocks=window)

    def _follow_fork(self, lease: Lease, height: int, head: Head, now: datetime) -> PassOutcome:
        """Rewind to the fork, or stop the chain if it is deeper than finality."""
        if not self._is_same_chain(lease, now):
            return PassOutcome.AHEAD
        [told] = self._adapter.blocks([head.block.height])
        if told.hash != head.block.hash:
            # The head may come from a node that has just turned out to be of another chain.
            raise ReorgDuringReadError("the head is not there any more")
        below = min(height, head.block.height)
        fork = find_fork(self._adapter, self.spec.name, below=below)
        if fork is None or fork.height <= height - self.spec.confirmations:
            self._halt(lease, fork, height, now)
            return PassOutcome.HALTED
        if fork.height == height:
            raise ReorgDuringReadError("two nodes are on different forks")
        lost = ingest.rewind(lease, fork, now=now)
        depth = height - fork.height
        log.warning("reorganisation", chain=self.spec.name, depth=depth, transfers=lost)
        return PassOutcome.AHEAD

    def _halt(self, lease: Lease, fork: Block | None, height: int, now: datetime) -> None:
        depth = "unknown depth" if fork is None else f"depth {height - fork.height}"
        reason = f"reorganisation of {depth} at height {height}, deeper than final: see manage.py resume_chain"
        ingest.halt(lease, reason, now=now, above=fork.height if fork else None)
        log.error("chain halted", chain=self.spec.name, reason=reason)

    def _began_anew(self) -> None:
        self._factory_due = 0.0

    def _look_for_factory(self, lease: Lease) -> None:
        """Check whether deposit addresses work here, so that web processes need not ask a node."""
        # Its code cannot disappear: a node that does not find it later is lagging or wrong.
        if lease.factory_ok or not self.spec.family.has_forwarders:
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
