"""How far a reading of accounts has come, and its contents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from wallets.chains.base import Account, BlockRef, TokenTransfer
from wallets.chains.ton.decode import Listed, block_name, moment
from wallets.chains.ton.questions import seconds

OVERLAP_SECONDS: Final = 120
"""How far before the known transfers a listing starts again.

A transfer is listed with the time of the sender's block, which is older than the one that has its receipt, by seconds or,
in a busy network, by a minute; and an index may write it down later than the block.
"""

PENDING_SECONDS: Final = 600
"""How long a listed transfer without a receipt delays its account.

Messages arrive within seconds, and a lagging index is recognised by its newest block. A transfer without a receipt after
this time may never get one, and must not stop an account's reading.
"""

LATE_SECONDS: Final = 3_600
"""How long a listed transfer's missing receipt is searched for, while its account is read on.

In an overloaded network, a message between shards may take longer than PENDING_SECONDS.
"""

Known = Mapping[str, TokenTransfer | None]
"""Results of transfers, by listed hash; None if nothing was received."""


def listed_since(account: Account) -> int:
    """Return the time from which on an account's transfers are listed."""
    return max(seconds(account.time) - OVERLAP_SECONDS, 0)


def new_since(row: Listed, since: Mapping[bytes, int]) -> int:
    """Return from when on a transfer is new to one of its two sides."""
    return min(since[owner] for owner in (row.sender, row.recipient) if owner in since)


def held_since(listed: Sequence[Listed], known: Known, *, head: BlockRef, end: BlockRef) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer up to `end` that still waits for its receipt."""
    oldest, newest = seconds(head.time) - PENDING_SECONDS, seconds(end.time)
    return _oldest(row for row in listed if row.tx_hash not in known and oldest < row.time <= newest)


def late_since(listed: Sequence[Listed], known: Known, *, head: BlockRef) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer without a receipt that is still searched for."""
    since = seconds(head.time) - LATE_SECONDS
    return _oldest(row for row in listed if row.tx_hash not in known and row.time > since)


def _oldest(listed: Iterable[Listed]) -> dict[bytes, int]:
    """Return by owner (of either side) the time of the oldest transfer."""
    oldest: dict[bytes, int] = {}
    for row in listed:
        for owner in (row.sender, row.recipient):
            oldest[owner] = min(row.time, oldest.get(owner, row.time))
    return oldest


def moved(account: Account, listed: Sequence[Listed], known: Known, *, head: BlockRef) -> list[TokenTransfer]:
    """Return an account's transfers in both directions up to the head; cached ones may be of blocks that were undone since."""
    own = [known.get(row.tx_hash) for row in listed if account.key in (row.sender, row.recipient)]
    found = {
        each.tx_hash: each for each in own if each is not None and account.key in (each.sender_key, each.recipient_key)
    }
    return [each for each in found.values() if each.block_height <= head.height]


def through(account: Account, limit: BlockRef | None, *, head: BlockRef, late: int | None) -> BlockRef:
    """Return how far an account is known: a block, or as far as before, never beyond the head.

    Its time is `late` where a transfer of that time may still get its receipt, so that it is listed again.
    """
    own = BlockRef(height=account.height, hash=block_name(account.height), parent_hash="", time=account.time)
    furthest = max((own, limit or own), key=lambda block: block.height)
    block = min((head, furthest), key=lambda block: block.height)
    return block if late is None else replace(block, time=min(block.time, moment(late)))


def earliest(*times: int | None) -> int | None:
    """Return the earliest of the given times, or None."""
    return min((time for time in times if time is not None), default=None)
