"""Reading a window of blocks in both directions: what our addresses received, and what left them."""

from collections.abc import Sequence

from wallets.chains.base import (
    BlockAdapter,
    Head,
    Hint,
    Reading,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.watchers.owners import Owners


def read_window(
    adapter: BlockAdapter,
    first: int,
    last: int,
    *,
    head: Head,
    hint: Hint | None,
    owners: Owners,
) -> Reading:
    """Read a window whole. Raises ChainError.

    The hint names as senders only what was paid before. A deposit address that was paid in this very window may have
    passed it on there too, so where there is one its window is asked once more for what those sent.
    """
    reading = adapter.read(first, last, head=head, hint=hint, ours=owners.ours)
    if hint is None:
        return reading
    told = reading.transfers
    fresh = owners.deposits_among({one.recipient_key for one in told} - hint.senders)
    if not fresh:
        return reading
    since = min(one.block_height for one in told if one.recipient_key in fresh)
    # By both sides: a header tells that an address is in its block, and not on which side of a transfer.
    passed_on = adapter.read(
        since, last, head=head, hint=Hint(fresh, fresh), ours=owners.ours
    )
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


def _once(
    transfers: Sequence[TokenTransfer], more: Sequence[TokenTransfer]
) -> list[TokenTransfer]:
    known = {(one.tx_hash, one.position) for one in transfers}
    return [
        *transfers,
        *(one for one in more if (one.tx_hash, one.position) not in known),
    ]
