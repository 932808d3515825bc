"""Limits on the newest block that a node may report, for chains that are read by account.

Nothing in an account's listing shows which block it ends at, so a false height would move every cursor there.
"""

from datetime import datetime, timedelta
from typing import Final

from wallets.chains.base import BlockRef, ChainUnavailableError, HeadCheck, MalformedAnswerError, any_head
from wallets.chains.specs import ChainSpec
from wallets.watchers.leases import Lease

_MOST_AHEAD: Final = timedelta(minutes=10)
"""How far a block's time may be ahead of our clock, which may be wrong too."""

_MOST_PACE: Final = 10
"""How much faster than usual a chain may make blocks."""

# Blocks' times are whole seconds.
_SLACK: Final = timedelta(seconds=5)
# About as much as is listed again below an account's cursor.
_MOST_BEHIND: Final = timedelta(minutes=1)


def head_check(spec: ChainSpec, lease: Lease, *, now: datetime) -> HeadCheck:
    """Return the check of a chain's newest block against our clock, and against the last head that was read.

    It allows any pause, and anything on a local chain, which mines at once.
    """
    if spec.is_local:
        return any_head

    def check(block: BlockRef) -> None:
        if block.time - now > _MOST_AHEAD:
            raise MalformedAnswerError("a node's newest block is of the future")
        if lease.head is None or lease.head_time is None:
            return
        passed = max(block.time - lease.head_time, timedelta()) + _SLACK
        if block.height - lease.head > _blocks_in(passed, spec) * _MOST_PACE:
            raise MalformedAnswerError(f"a node's newest block {block.height} is too far above {lease.head}")

    return check


def check_not_far_behind(spec: ChainSpec, lease: Lease, block: BlockRef) -> None:
    """Raise ChainUnavailableError for a newest block far below the cursor: if it is true, nothing is read any more."""
    behind = (lease.height or 0) - block.height
    if behind > _blocks_in(_MOST_BEHIND, spec):
        raise ChainUnavailableError(f"the nodes' newest block {block.height} is {behind} below the last one read")


def _blocks_in(time: timedelta, spec: ChainSpec) -> int:
    return time // timedelta(seconds=spec.block_seconds)
