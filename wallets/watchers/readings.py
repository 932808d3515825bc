"""Reads a window of blocks in both directions: our addresses' incoming and outgoing transfers."""

from collections.abc import Sequence

from wallets.chains.base import BlockAdapter, Head, Hint, Reading, ReorgDuringReadError, TokenTransfer
from wallets.watchers.owners import Owners


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
