"""Finds where a chain forked from the blocks we read."""

from wallets.chains.base import BlockAdapter
from wallets.models import Block

_STEP = 16


def find_fork(adapter: BlockAdapter, chain: str, *, below: int) -> Block | None:
    """Return the newest block at or below a height that we read and the chain still has; None if there is none.

    Raises ChainError.
    """
    stored = list(Block.objects.filter(chain=chain, height__lte=below).order_by("-height"))
    for start in range(0, len(stored), _STEP):
        part = stored[start : start + _STEP]
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
