"""The protocol of chain adapters that watchers use: its types and errors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol


class ChainError(Exception):
    """A chain could not be read. There are no partial results, so the cursor stays. Messages never contain a node's secrets."""


class ChainUnavailableError(ChainError):
    """No node answers, or none has the requested data yet. `retry_after` is the wait that the node asks for, in seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RangeTooLargeError(ChainError):
    """The node returns fewer blocks or logs at once than requested."""


class ChainMismatchError(ChainError):
    """The node belongs to another chain."""


class MalformedAnswerError(ChainError):
    """The node's answer violates the protocol."""


class ReorgDuringReadError(ChainError):
    """The chain changed between two requests; try again."""


class AddressError(ValueError):
    """The text is not an address of this chain, or its checksum shows a typing error."""


MISTYPED: Final = "has a wrong checksum: a character was mistyped."
"""The AddressError's text for a wrong checksum."""

PARTS_FROM: Final = 2**20
"""Positions from here on are those of a transaction's parts, which releases before 0.26 recorded as one sum at a position below.

Of what an owner got or gave of a token in one transaction, either the sum is recorded or its parts (triggers `one_reading`). No
chain's own ordinals reach so far.
"""

MOST_LABELS: Final = 64
LABEL_LENGTH: Final = 1_024
"""More than fits beside a payment into a transaction of Solana: a code counts whatever stands before it."""


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """A token movement, as the chain reports it.

    `units` are base units. `position` is its ordinal among its transaction's own transfers (decision 4). `recipient_key` is the
    recipient in the form in which addresses are joined, `recipient` and the others in the chain's canonical form.
    `sender_key` is the sender in that form, empty where there is none (a mint). If several senders paid one recipient
    (Solana), each side is a transfer of its own, without the other's key. `labels` are what the payer's wallet attached
    (Solana Pay references, a TON comment): at most MOST_LABELS, none longer than LABEL_LENGTH, without NUL characters.
    `is_sum` says that it is known by the balance alone, and may be several payments.
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
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """All addresses that can matter on a chain, if they are few: as recipients and as senders."""

    recipients: frozenset[bytes]
    senders: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block's height, hash, parent's hash and time."""

    height: int
    hash: str
    parent_hash: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block. `agreed` means that none of our other nodes knows a much newer one.

    `finalized` is the height that the chain itself calls final, if its policy requires that. `base_fee` is what one gas costs
    in this block, in wei below 2**60; None where blocks name no price.
    """

    block: BlockRef
    agreed: bool
    finalized: int | None = None
    base_fee: int | None = None


HeadCheck = Callable[[BlockRef], None]
"""Raises MalformedAnswerError for a block that cannot be a chain's newest."""


def any_head(block: BlockRef) -> None:
    """Allow any newest block."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A whole window of blocks. `blocks` holds the blocks with known headers; always the last one.

    `parent_hash` is the hash of the block before the first.
    """

    first: int
    last: int
    parent_hash: str
    blocks: Sequence[BlockRef]
    transfers: Sequence[TokenTransfer]


@dataclass(frozen=True, slots=True)
class FoundMovement:
    """A token movement inside a transaction that was looked up by its hash.

    `token` is the symbol if the chain's spec lists the contract, else None: anyone can create a token of any name, so
    other names are not shown. `token_address` is empty for the chain's own coin. `units` are the token's base
    units. `position` is as in TokenTransfer, and means something for listed tokens only.
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
    """A transaction that was looked up by its hash, in the chain's own spelling of it.

    `block_height` and `block_time` are None while it waits for a block, and those of its last part where it takes several
    blocks (TON). If it waits or failed, `movements` is empty. `transfers` are the movements that watchers record: a TON
    transaction makes several, each with its own hash. `to_oneself` are transfers whose sender is the recipient: they moved nothing.

    `is_final` is by the chain's policy for such an amount. It leaves out the second node's confirmation, which watchers
    require for large amounts. `head` is the newest block's height, if the request included it. Without `is_whole`, more of it is
    still to come (TON): what is not among the movements may follow.
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
    to_oneself: Sequence[FoundMovement] = ()
    is_whole: bool = True


OursAsker = Callable[[set[bytes]], Collection[bytes]]
"""Returns those of the given recipients' and senders' keys that are ours."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account to read: everything up to `height`, a block of `time`, is already known.

    `key` and `address` are the owner's, as `TokenTransfer.recipient_key` and `.recipient`. `most` limits the requests per
    reading (approximately), so that other accounts need not wait; None for no limit.
    """

    key: bytes
    address: str
    height: int
    time: datetime
    most: int | None = None


@dataclass(frozen=True, slots=True)
class AccountReading:
    """An account's incoming and outgoing transfers, up to and including the block `through`.

    A later reading may contain a transfer again.
    """

    key: bytes
    through: BlockRef
    transfers: Sequence[TokenTransfer]


class ChainAdapter(Protocol):
    """Reads one chain. For a node's errors, methods raise only ChainError subclasses."""

    @property
    def requests(self) -> int:
        """Return how many requests were sent to nodes so far; each call of a batch counts."""

    def head(self) -> Head:
        """Return the newest block."""

    def genesis(self) -> str:
        """Return the hash of the chain's first block, read again each time."""

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the newest final height, given that the chain was read up to `read_height`."""

    def finalized(self) -> int:
        """Return the newest height that the chain itself calls final, required for large amounts."""

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        """Return those of the transfers that a second node reports identically; None if there is no second node."""

    def find(self, tx_hash: str) -> FoundTransaction | None:
        """Look up a transaction by its hash in the chain's own spelling; None if none of our nodes knows it."""

    def close(self) -> None:
        """Close the connections."""


class BlockAdapter(ChainAdapter, Protocol):
    """Reads a chain that returns the events of whole blocks, for any number of addresses."""

    def blocks(self, heights: Sequence[int]) -> list[BlockRef]:
        """Return these blocks in order."""

    def read(self, first: int, last: int, *, head: Head, hint: Hint | None, ours: OursAsker) -> Reading:
        """Read a whole window, ends included: our addresses' incoming and outgoing transfers.

        `hint` names every address that can matter, if they are few. `ours` is called with the recipients and senders found;
        transfers with one of ours on either side are read.
        """


class AccountAdapter(ChainAdapter, Protocol):
    """Reads a chain that can only be read account by account.

    `Head.block.hash` may be any name of the block; `parent_hash` is empty.
    """

    @property
    def accounts_at_once(self) -> int:
        """Return the best number of accounts per call."""

    def head(self, *, check: HeadCheck = any_head) -> Head:
        """Return the newest block; a node that reports one that `check` refuses is left for another."""

    def read_accounts(self, accounts: Sequence[Account], *, head: Head) -> list[AccountReading]:
        """Read accounts completely, each from its own height through the head; the readings have the accounts' order."""

    def lost(self, transfers: Sequence[TokenTransfer]) -> list[bool]:
        """Return those transfers that no node knows any more, because a reorg removed their transaction."""

    def subscriptions(self, accounts: Sequence[Account]) -> list[tuple[str, list[Any]]]:
        """Return the JSON-RPC calls, each a method and its parameters, by which a node's WebSocket pushes a notice of each payment to the accounts."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The accounts' balances at a block: by account key, base units by token symbol, with every token that machines can pay with.

    `height` is the block, or one shortly before it if the chain's nodes only return current balances.
    """

    height: int
    units: Mapping[bytes, Mapping[str, int]]


class HoldingsReader(Protocol):
    """Reads accounts' balances from a chain's nodes. Raises only ChainError subclasses."""

    @property
    def at_once(self) -> int:
        """Return the best number of accounts per call."""

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Return these accounts' balances, all from one node; `accounts` are canonical addresses by key."""


class AccountTimes(Protocol):
    """Finds blocks by time and times of blocks. Raises only ChainError subclasses."""

    def before(self, time: datetime) -> BlockRef:
        """Return a block before a time: the newest, or a slightly older one."""

    def at(self, height: int) -> BlockRef:
        """Return a block with a time, from which an account known up to `height` can be read on."""
