"""Which block was when, on chains that are read account by account."""

from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from wallets.chains.base import BlockRef, ChainUnavailableError
from wallets.chains.registry import ChainSpec
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.questions import ask_head, slot_name, whole
from wallets.chains.ton.decode import block_name
from wallets.chains.ton.questions import ask_block_at, ask_block_before, seconds

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEFORE_ALL: Final = BlockRef(0, block_name(0), "", _EPOCH)


class AccountTimes(Protocol):
    """Finds blocks by time and times of blocks. Raises ChainError subclasses, and nothing else."""

    def before(self, time: datetime) -> BlockRef:
        """Return a block older than a time, the newest such one or one somewhat before it."""

    def at(self, height: int) -> BlockRef:
        """Return a block with a time from which an account can be read on that is known up to it."""


class SolanaTimes:
    """Solana lists accounts by slots alone, so an estimate of the slot is enough and its time does not matter."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._pool = pool
        self._slot = timedelta(seconds=spec.block_seconds)

    def before(self, time: datetime) -> BlockRef:
        """Count back from the newest slot as if none took longer than it should. Raises ChainError."""
        head = self._pool.run(whole(ask_head))
        return self.at(max(head.height - (head.time - time) // self._slot, 0))

    def at(self, height: int) -> BlockRef:
        """Name the slot."""
        return BlockRef(height, slot_name(height), "", _EPOCH)


class TonTimes:
    """TON lists accounts by time, and its index knows each block's."""

    def __init__(self, pool: RpcPool) -> None:
        self._pool = pool

    def before(self, time: datetime) -> BlockRef:
        """Ask for the newest older block; before the first one that the index has there is nothing to read.

        Raises ChainError.
        """
        found = self._pool.run(lambda node: ask_block_before(node, seconds(time)))
        return found or _BEFORE_ALL

    def at(self, height: int) -> BlockRef:
        """Ask for the block. Raises ChainError, ChainUnavailableError where no node has it."""
        if height == _BEFORE_ALL.height:
            return _BEFORE_ALL
        found = self._pool.run(lambda node: ask_block_at(node, height))
        if found is None:
            raise ChainUnavailableError(f"the node does not have block {height}")
        return found
