"""Writes readings: transfers, block hashes and cursor in one transaction, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import DateTimeField, F, QuerySet, Value
from django.db.models.functions import Coalesce, Greatest

from accounts.states import Mode
from wallets.chains.base import BlockRef, Head, Reading
from wallets.chains.family import ChainSpec
from wallets.models import AccountCursor, Block, ChainCursor, Transfer
from wallets.networks import known_chains
from wallets.states import TransferState
from wallets.transfers.doubts import queue_doubted, tell_of_halt
from wallets.transfers.movements import confirm_movements, detach_movements, orphan_movements
from wallets.transfers.service import confirm_through, orphan_above
from wallets.watchers.budget import Usage
from wallets.watchers.leases import Lease, fenced
from wallets.watchers.owners import RecordedFacts, record_facts

LEAST_KEPT_BLOCKS = 256
"""Hashes are kept this far below the head: deeper than any reorg that is followed."""

BEFORE_GENESIS: Final = -1
"""The height of transfers that were final on a local chain which was reset since."""

# Blocks were slower in a chain's past, and reading slightly too much does no harm.
_LONG_BLOCKS: Final = 10
_FEE_SHARE: Final = 8


@dataclass(frozen=True, slots=True)
class Pulse:
    """A pass's facts about its chain, besides the blocks.

    `now` is when it began, `due_at` when the next one is meant to, `reads` how many windows or accounts it read.
    """

    head: Head
    now: datetime
    due_at: datetime
    usage: Usage
    reads: int = 1


def begin(lease: Lease, block: BlockRef) -> None:
    """Start reading a chain after `block`."""
    with fenced(lease):
        _keep_blocks(lease.chain, [block])
        _cursor(lease).update(height=block.height, block_hash=block.hash, first_height=block.height + 1)


def begin_at_height(lease: Lease, height: int) -> None:
    """Start reading a chain after `height`, without checking that block's hash."""
    with fenced(lease):
        _cursor(lease).update(height=height, block_hash="", first_height=height + 1)


def commit_reading(
    lease: Lease,
    spec: ChainSpec,
    *,
    reading: Reading,
    facts: RecordedFacts,
    final_height: int,
    window: int,
    pulse: Pulse,
) -> int:
    """Write a whole window and advance the cursor; return how many payments were new. Raises LeaseLostError."""
    head, now = pulse.head, pulse.now
    lowest = head.block.height - kept_blocks(spec)
    with fenced(lease):
        new = len(record_facts(facts, now=now))
        _keep_blocks(spec.name, [b for b in reading.blocks if b.height > lowest])
        Block.objects.filter(chain=spec.name, height__lte=lowest).delete()
        confirm(spec.name, final_height, now=now)
        _cursor(lease).update(height=reading.last, block_hash=reading.blocks[-1].hash, window=window)
        write_pulse(lease, pulse)
        if reading.last == head.block.height:
            vouch(lease, spec, pulse)
    return new


def commit_idle(lease: Lease, spec: ChainSpec, *, final_height: int, pulse: Pulse) -> None:
    """Record that the chain was read to its head without anything new. Raises LeaseLostError."""
    with fenced(lease):
        confirm(lease.chain, final_height, now=pulse.now)
        write_pulse(lease, pulse)
        vouch(lease, spec, pulse)


def confirm(chain: str, height: int, *, now: datetime) -> None:
    """Make everything on a chain up to `height` final, except large transfers."""
    confirm_through(chain, height, now=now)
    confirm_movements(chain, height, now=now)


def commit_window(lease: Lease, window: int) -> None:
    """Store how many blocks to request at once."""
    with fenced(lease):
        _cursor(lease).update(window=window)


def rewind(lease: Lease, fork: Block, *, now: datetime) -> int:
    """Rewind to a block that is still in the chain; return how many transfers were lost above it."""
    with fenced(lease):
        lost = orphan_above(lease.chain, fork.height, now=now)
        orphan_movements(lease.chain, fork.height, now=now)
        Block.objects.filter(chain=lease.chain, height__gt=fork.height).delete()
        # Blocks mined instead may contain payments in time: nothing counts as known until they are read.
        _cursor(lease).update(height=fork.height, block_hash=fork.hash, read_through_at=None)
    return lost


def reset(lease: Lease, genesis_hash: str, *, now: datetime) -> int:
    """Start again on a local chain that was reset; return how many transfers were lost.

    Transfers that were not final are orphaned. Final ones stay: their checkouts are completed, and a developer's history
    should survive a node's restart. But they are in no block of the new chain, so reorgs and other sources ignore them.
    """
    with fenced(lease):
        unsure = [TransferState.DETECTED]
        lost = orphan_above(lease.chain, -1, now=now, states=unsure)
        orphan_movements(lease.chain, -1, now=now, states=unsure)
        detach_movements(lease.chain, BEFORE_GENESIS)
        Transfer.objects.filter(chain=lease.chain, mode=Mode.LIVE, state=TransferState.CONFIRMED).update(
            block_height=BEFORE_GENESIS
        )
        Block.objects.filter(chain=lease.chain).delete()
        AccountCursor.objects.filter(chain=lease.chain).delete()
        _cursor(lease).update(
            genesis_hash=genesis_hash,
            height=None,
            block_hash="",
            first_height=None,
            head=None,
            read_through_at=None,
            accounts_read_at=None,
            due_at=None,
            factory_ok=None,
        )
    return lost


def remember_genesis(lease: Lease, genesis_hash: str) -> None:
    """Store the chain's first block's hash, which identifies the chain."""
    with fenced(lease):
        _cursor(lease).update(genesis_hash=genesis_hash)


def note_factory(lease: Lease, *, is_there: bool) -> None:
    """Store whether deposit addresses can be used on the chain."""
    with fenced(lease):
        _cursor(lease).update(factory_ok=is_there)


def halt(lease: Lease, reason: str, *, now: datetime, above: int | None = None) -> None:
    """Stop a chain until a person has looked, and mail operators and the owners whose payments are in doubt.

    `above` is the last block that is surely in it, if one is known.
    """
    with fenced(lease):
        _cursor(lease).update(halted_reason=reason[:200], halted_at=now, doubted_above=above)
        tell_of_halt(lease.chain, reason, now=now)


@transaction.atomic
def resume(chain: str, *, height: int, now: datetime) -> int:
    """Resume a halted chain after `height`; return how many transfers above it are orphaned until seen again.

    The fence moves, so that a watcher in the middle of a pass cannot undo this.
    """
    # Locked first, as by who reads the chain.
    ChainCursor.objects.select_for_update().get(chain=chain)
    queue_doubted(chain, now=now)
    with connection.cursor() as cursor:
        cursor.execute(_RESUME, {"chain": chain, "height": height})
    lower_accounts(chain, height)
    orphan_movements(chain, height, now=now)
    return orphan_above(chain, height, now=now)


_RESUME = """
    WITH forgotten AS (
        DELETE FROM wallets_block WHERE chain = %(chain)s)
    UPDATE wallets_chaincursor
    SET height = %(height)s, block_hash = '', halted_reason = '', halted_at = NULL, doubted_above = NULL, fence = fence + 1, owner = '',
        lease_until = 'epoch', due_at = NULL, read_through_at = NULL
    WHERE chain = %(chain)s
"""
_LOWER = """
    UPDATE wallets_accountcursor
    SET height_time = height_time - make_interval(secs => (height - %(height)s) * %(block_seconds)s),
        height = %(height)s, read_through_at = NULL
    WHERE chain = %(chain)s AND height > %(height)s AND (%(keys)s::bytea[] IS NULL OR key = ANY(%(keys)s::bytea[]))
"""


def lower_accounts(chain: str, height: int, *, keys: Sequence[bytes] | None = None) -> None:
    """Have accounts read again from above `height`: all of the chain's, or those in `keys`.

    A block's time is unknown from its height; the time set is early enough.
    """
    spec = known_chains().get(chain)
    parameters: dict[str, Any] = {
        "chain": chain,
        "height": height,
        "keys": keys if keys is None else list(keys),
        "block_seconds": _LONG_BLOCKS * spec.block_seconds if spec else 0,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOWER, parameters)


def kept_blocks(spec: ChainSpec) -> int:
    """Return how many block hashes below the head are kept: a deeper fork halts the chain. More where blocks take less than two seconds."""
    return max(LEAST_KEPT_BLOCKS * ceil(max(1, 2 / spec.block_seconds)), 4 * spec.confirmations)


def _cursor(lease: Lease) -> QuerySet[ChainCursor]:
    return ChainCursor.objects.filter(chain=lease.chain)


def write_pulse(lease: Lease, pulse: Pulse) -> None:
    """Write the node's state, and clear any failure."""
    told = {} if pulse.head.base_fee is None else {"base_fee": _smoothed(pulse.head.base_fee)}
    _cursor(lease).update(
        head=pulse.head.block.height,
        head_at=pulse.now,
        head_time=pulse.head.block.time,
        due_at=pulse.due_at,
        requests=F("requests") + pulse.usage.new,
        requests_minute=pulse.usage.last_minute,
        reads=F("reads") + pulse.reads,
        failing_since=None,
        last_error="",
        **told,
    )


def _smoothed(base_fee: int) -> Coalesce:
    """Return the mean with one more block's price. Prices are below 2**60, so that eight of them are a bigint."""
    return Coalesce((F("base_fee") * (_FEE_SHARE - 1) + base_fee) / _FEE_SHARE, Value(base_fee))


def known_through(spec: ChainSpec, pulse: Pulse) -> datetime | None:
    """Return up to when all payments are known, after reading to the head; None if the nodes disagree.

    A stalled node shows an old head as the newest, so on a public chain the head's own time is the limit. A local chain
    makes blocks only for payments, and has one node.
    """
    if not pulse.head.agreed:
        return None
    return pulse.now if spec.is_local else min(pulse.now, pulse.head.block.time)


def vouch(lease: Lease, spec: ChainSpec, pulse: Pulse) -> None:
    """Record the time up to which every payment of this chain was read. Skipped if the nodes disagree about the newest block."""
    through = known_through(spec, pulse)
    if through is None:
        return
    # Two watchers' clocks may differ: the value never goes back.
    seen = Greatest("read_through_at", Value(through, DateTimeField()))
    _cursor(lease).update(read_through_at=seen)


_KEEP = """
    INSERT INTO wallets_block (chain, height, hash)
    SELECT %s, height, hash FROM unnest(%s::bigint[], %s::text[]) AS b(height, hash)
    ON CONFLICT (chain, height) DO UPDATE SET hash = EXCLUDED.hash
"""


def _keep_blocks(chain: str, blocks: Sequence[BlockRef]) -> None:
    if blocks:
        heights, hashes = [b.height for b in blocks], [b.hash for b in blocks]
        with connection.cursor() as cursor:
            cursor.execute(_KEEP, [chain, heights, hashes])
