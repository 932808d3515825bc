"""What a watcher asks of any chain, and the words it is answered in."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol


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


class AddressError(ValueError):
    """The text is no address of this chain, or its checksum says it was mistyped."""


MISTYPED: Final = "has a wrong checksum: a character was mistyped."
"""What an AddressError says of one."""

MOST_LABELS: Final = 64
LABEL_LENGTH: Final = 128


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """A token movement, as the chain tells it.

    `units` are base units. `position` is its ordinal among its transaction's own transfer logs. `recipient_key` is
    the recipient in the form in which addresses are joined, `recipient` and the others in the chain's canonical form.
    `sender_key` is the sender in that form, empty where there is none (a mint). Where several sent one recipient what it
    got (Solana), each side is told by itself, without the other's key.
    `labels` are what the payer's wallet wrote beside it (Solana Pay references, a TON comment): at most MOST_LABELS, none
    longer than LABEL_LENGTH, without NUL characters.
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
    labels: tuple[str, ...] = ()
    sender_key: bytes = b""


@dataclass(frozen=True, slots=True)
class Hint:
    """Every address that can matter on a chain, where they are few enough to name: by what they receive, and send."""

    recipients: frozenset[bytes]
    senders: frozenset[bytes] = frozenset()


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


@dataclass(frozen=True, slots=True)
class FoundMovement:
    """A token movement inside a transaction that somebody named by its hash.

    `token` is the symbol where the contract is one the chain's spec lists, else None: anybody can make a token of any
    name, so no other name is told. `token_address` is empty for the chain's own coin. `units` are base units of
    whatever token it is. `position` is as in TokenTransfer, and means something for listed tokens only.
    """

    token: str | None
    token_address: str
    units: int
    sender: str
    recipient: str
    recipient_key: bytes
    position: int


@dataclass(frozen=True, slots=True)
class FoundTransaction:
    """A transaction that somebody named by its hash, in the chain's own spelling of it.

    `block_height` and `block_time` are None while it waits for a block, and those of its last part where it takes several
    blocks (TON). What waits or failed moved nothing: `movements` is empty. `transfers` are the movements that watchers
    record, in their words: a wallet's transaction on TON makes several, each with a hash of its own.

    `is_final` is by the chain's policy for such an amount. One thing that watchers wait for with large ones is not in it:
    that a second node tells of them. `head` is the height of the newest block, where that was asked in passing.
    """

    chain: str
    tx_hash: str
    succeeded: bool
    is_final: bool
    block_height: int | None
    block_time: datetime | None
    movements: Sequence[FoundMovement]
    transfers: Sequence[TokenTransfer] = ()
    head: int | None = None


OursAsker = Callable[[set[bytes]], Collection[bytes]]
"""Tells which of some recipients' and senders' keys are ours."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account to read: everything up to `height`, a block of `time`, is known already.

    `key` and `address` are the owner's, as `TokenTransfer.recipient_key` and `.recipient`. `most` is about how many requests
    it is worth at a time, where it must not keep others waiting; None for as many as it takes.
    """

    key: bytes
    address: str
    height: int
    time: datetime
    most: int | None = None


@dataclass(frozen=True, slots=True)
class AccountReading:
    """What arrived in an account and what left it, up to and including the block `through`.

    A transfer may come again in a later reading.
    """

    key: bytes
    through: BlockRef
    transfers: Sequence[TokenTransfer]


class ChainAdapter(Protocol):
    """Reads one chain. Every method raises ChainError subclasses, and nothing else, for what a node does wrong."""

    @property
    def requests(self) -> int:
        """How many requests were sent to nodes so far, batches counted by what is in them."""

    def head(self) -> Head:
        """Return the newest block."""

    def genesis(self) -> str:
        """Return the hash of the chain's first block, asked anew."""

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the newest final height, the chain having been read up to `read_height`."""

    def finalized(self) -> int:
        """Return the newest height that the chain itself calls final, which large amounts wait for."""

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        """Ask a node that is not in use which of these it knows just as they are; None where there is no second node."""

    def find(self, tx_hash: str) -> FoundTransaction | None:
        """Look a transaction up by its hash in the chain's own spelling; None where no node of ours knows it."""

    def close(self) -> None:
        """Close the connections."""


class BlockAdapter(ChainAdapter, Protocol):
    """Reads a chain whose blocks can be asked for what happened to any number of addresses."""

    def blocks(self, heights: Sequence[int]) -> list[BlockRef]:
        """Return these blocks in order."""

    def read(
        self,
        first: int,
        last: int,
        *,
        head: Head,
        hint: Hint | None,
        ours: OursAsker,
    ) -> Reading:
        """Read a window whole, its ends included: what our addresses received, and what they sent.

        `hint` names every address that can matter, where they are few; `ours` is asked about the recipients and the
        senders that were found, and what has one of ours on either side is read.
        """


class AccountAdapter(ChainAdapter, Protocol):
    """Reads a chain that can only be asked account by account.

    `Head.block.hash` may be any name of the block; `parent_hash` is empty.
    """

    @property
    def accounts_at_once(self) -> int:
        """How many accounts are best read by one call."""

    def read_accounts(
        self, accounts: Sequence[Account], *, head: Head
    ) -> list[AccountReading]:
        """Read accounts whole, each from its own height through the head; the readings are in their order."""

    def lost(self, transfers: Sequence[TokenTransfer]) -> list[bool]:
        """Tell which transfers no node knows any more: a fork took their transaction."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What accounts held at a block: by account key, base units by token symbol, every accepted token among them.

    `height` is the block, or one shortly before it where the chain's nodes tell only what is held now.
    """

    height: int
    units: Mapping[bytes, Mapping[str, int]]


class HoldingsReader(Protocol):
    """Asks one chain's nodes what accounts hold. Raises ChainError subclasses, and nothing else."""

    @property
    def at_once(self) -> int:
        """How many accounts are best asked for by one call."""

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Return what these accounts hold, all of it told by one node; `accounts` are canonical addresses by key."""


class AccountTimes(Protocol):
    """Finds blocks by time and times of blocks. Raises ChainError subclasses, and nothing else."""

    def before(self, time: datetime) -> BlockRef:
        """Return a block older than a time, the newest such one or one somewhat before it."""

    def at(self, height: int) -> BlockRef:
        """Return a block with a time from which an account can be read on that is known up to it."""
