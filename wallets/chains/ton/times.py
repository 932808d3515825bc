"""Blocks by time on TON."""

from datetime import UTC, datetime
from typing import Final

from wallets.chains.base import BlockRef, ChainUnavailableError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.ton.decode import block_name
from wallets.chains.ton.questions import ask_block_at, ask_block_before, seconds

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEFORE_ALL: Final = BlockRef(0, block_name(0), "", _EPOCH)


class TonTimes:
    """Finds blocks by time: TON lists accounts by time, and its index has each block's."""

    def __init__(self, pool: RpcPool) -> None:
        self._pool = pool

    def before(self, time: datetime) -> BlockRef:
        """Return the newest older block. Before the index's first block there is nothing to read.

        Raises ChainError.
        """
        found = self._pool.run(lambda node: ask_block_before(node, seconds(time)))
        return found or _BEFORE_ALL

    def at(self, height: int) -> BlockRef:
        """Return the block. Raises ChainError, ChainUnavailableError if no node has it."""
        if height == _BEFORE_ALL.height:
            return _BEFORE_ALL
        found = self._pool.run(lambda node: ask_block_at(node, height))
        if found is None:
            raise ChainUnavailableError(f"the node does not have block {height}")
        return found
