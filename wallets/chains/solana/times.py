"""Blocks by time on Solana."""

from datetime import UTC, datetime, timedelta
from typing import Final

from wallets.chains.base import BlockRef
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.questions import ask_head, slot_name
from wallets.chains.specs import ChainSpec

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SolanaTimes:
    """Estimates slots by time: Solana lists accounts by slots alone, so an estimate is enough."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._pool = pool
        self._slot = timedelta(seconds=spec.block_seconds)

    def before(self, time: datetime) -> BlockRef:
        """Return a slot before a time, counted back from the newest at the nominal pace. Raises ChainError."""
        head = self._pool.run(ask_head)
        return self.at(max(head.height - (head.time - time) // self._slot, 0))

    def at(self, height: int) -> BlockRef:
        """Return the slot as a block."""
        return BlockRef(height, slot_name(height), "", _EPOCH)
