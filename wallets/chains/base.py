"""What a watcher asks of any chain, and the words it is answered in."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class ChainError(Exception):
    """A chain could not be read. Nothing was read in part: the cursor stays. Messages never hold a node's secrets."""


class ChainUnavailableError(ChainError):
    """No node answers, or none has what was asked for yet. `retry_after` is what the node asks for, in seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RangeTooLargeError(ChainError):
    """The node gives fewer blocks or logs at once than it was asked for."""


class ChainMismatchError(ChainError):
    """The node belongs to another chain."""


class MalformedAnswerError(ChainError):
    """The node's answer is not what the protocol allows."""


class ReorgDuringReadError(ChainError):
    """The chain changed between two questions; ask again."""


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """A token movement, as the chain tells it.

    `units` are base units. `position` is its ordinal among its transaction's own transfer logs. `recipient_key` is
    the recipient in the form in which addresses are joined, `recipient` and the others in the chain's canonical form.
    """

    chain: str
    tx_hash: str
    position: int
    token: str
    token_address: str
    units: int
    sender: str
    recipient_key: bytes
    recipient: str
    block_height: int
    block_hash: str
    block_time: datetime


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block, without what is in it."""

    height: int
    hash: str
    parent_hash: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block. `agreed` says that no other node of ours knows a much newer one.

    `finalized` is the height the chain itself calls final, where its policy asks for that.
    """

    block: BlockRef
    agreed: bool
    finalized: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A whole window of blocks. `blocks` holds those whose headers were read, the last one always.

    `parent_hash` is the hash of the block before the first.
    """

    first: int
    last: int
    parent_hash: str
    blocks: Sequence[BlockRef]
    transfers: Sequence[TokenTransfer]


OursAsker = Callable[[set[bytes]], Collection[bytes]]
"""Tells which of some recipient keys are ours."""


class ChainAdapter(Protocol):
    """Reads one chain. Every method raises ChainError subclasses, and nothing else, for what a node does wrong."""

    def head(self) -> Head:
        """Return the newest block."""

    def genesis(self) -> str:
        """Return the hash of the chain's first block, asked anew."""

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the newest final height, the chain having been read up to `read_height`."""

    def blocks(self, heights: Sequence[int]) -> list[BlockRef]:
        """Return these blocks in order."""

    def read(
        self,
        first: int,
        last: int,
        *,
        head: Head,
        hint: Collection[bytes] | None,
        ours: OursAsker,
    ) -> Reading:
        """Read a window whole, its ends included.

        `hint` names every address that can matter, where they are few; `ours` is asked about what was found.
        """

    def close(self) -> None:
        """Close the connections."""
