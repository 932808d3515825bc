"""How far a reading of accounts goes, and what it holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from wallets.chains.base import Account, BlockRef, TokenTransfer
from wallets.chains.ton.decode import Listed, block_name, moment
from wallets.chains.ton.questions import seconds

OVERLAP_SECONDS: Final = 120
"""How much is listed again before what is known.

A transfer is listed with the time of the sender's block, which is older than the one that has its receipt, by seconds or, in
a busy network, by a minute; and an index may write it down later than the block.
"""

PENDING_SECONDS: Final = 600
"""How long a listed transfer without a receipt holds up its account.

Messages arrive within seconds; an index that is behind says so by its own newest block. What has no receipt by then may
never get one, and nobody must be able to stop an account's reading by it.
"""

LATE_SECONDS: Final = 3_600
"""How long a listed transfer without a receipt is looked for, its account being read on meanwhile.

Between shards of a network that is overloaded a message may take longer than its account can be held up.
"""

Known = Mapping[str, TokenTransfer | None]
"""What became of transfers, by the hash they are listed with; None where nothing was received."""


def listed_since(account: Account) -> int:
    """Return the time from which on an account's transfers are listed."""
    return max(seconds(account.time) - OVERLAP_SECONDS, 0)


def held_since(
    listed: Sequence[Listed], known: Known, *, head: BlockRef, end: BlockRef
) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer up to `end` whose receipt is still waited for."""
    oldest, newest = seconds(head.time) - PENDING_SECONDS, seconds(end.time)
    return _oldest(
        row
        for row in listed
        if row.tx_hash not in known and oldest < row.time <= newest
    )


def late_since(
    listed: Sequence[Listed], known: Known, *, head: BlockRef
) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer without a receipt that is still looked for."""
    since = seconds(head.time) - LATE_SECONDS
    return _oldest(
        row for row in listed if row.tx_hash not in known and row.time > since
    )


def _oldest(listed: Iterable[Listed]) -> dict[bytes, int]:
    """Return by owner, whoever of the two it is, the time of the oldest transfer."""
    oldest: dict[bytes, int] = {}
    for row in listed:
        for owner in (row.sender, row.recipient):
            oldest[owner] = min(row.time, oldest.get(owner, row.time))
    return oldest


def moved(
    account: Account, listed: Sequence[Listed], known: Known, *, head: BlockRef
) -> list[TokenTransfer]:
    """Return what an account received and sent up to the head; what is remembered may be of blocks that were undone since."""
    own = [
        known.get(row.tx_hash)
        for row in listed
        if account.key in (row.sender, row.recipient)
    ]
    found = {
        each.tx_hash: each
        for each in own
        if each is not None and account.key in (each.sender_key, each.recipient_key)
    }
    return [each for each in found.values() if each.block_height <= head.height]


def through(
    account: Account, limit: BlockRef | None, *, head: BlockRef, late: int | None
) -> BlockRef:
    """Return how far an account is known: to a block, or as far as before, but never beyond the head.

    Its time is `late` where a transfer of that time may still get its receipt, so that it is listed again.
    """
    own = BlockRef(
        height=account.height,
        hash=block_name(account.height),
        parent_hash="",
        time=account.time,
    )
    furthest = max((own, limit or own), key=lambda block: block.height)
    block = min((head, furthest), key=lambda block: block.height)
    return block if late is None else replace(block, time=min(block.time, moment(late)))


def earliest(*times: int | None) -> int | None:
    """Return the first of some times, of which there may be none."""
    return min((time for time in times if time is not None), default=None)
