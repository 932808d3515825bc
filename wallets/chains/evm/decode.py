"""Parses EVM nodes' answers. Every field used is checked; a failed check raises, so that no partial answer is used."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn

from wallets.chains.base import BlockRef, ChainUnavailableError, MalformedAnswerError, ReorgDuringReadError
from wallets.forwarders.addresses import checksum, keccak

SILENT: Final = 0
"""The empty filter, which shows nothing: of a block without logs, or from a node without filters, such as java-tron."""

_BLOOM_BITS: Final = 2_048
_WRITTEN_BLOOM: Final = re.compile(r"0x[0-9a-fA-F]{512}", re.ASCII)
# The probability that one name matches a filter with four of ten bits set. Blocks of Ethereum, Base and Polygon are fuller
# (EIP-7745): there almost every block would match.
_MOST_FALSE_MATCHES: Final = 0.4**3

TRANSFER: Final = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""The first topic of ERC-20's Transfer(address indexed, address indexed, uint256)."""

PADDING: Final = "0x" + "0" * 24
"""The padding before an address in a topic."""

SidedLog = tuple[bytes, bytes, Mapping[str, Any]]
"""The two sides of a Transfer log (sender, recipient), and the log as received."""

_TRANSFER_TOPICS: Final = 3
_KEY_BYTES: Final = 20
_FIELDS: Final = itemgetter(
    *("topics", "transactionHash", "logIndex", "address"), *("data", "blockNumber", "blockHash")
)
_unhex: Final = bytes.fromhex
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,15}", re.ASCII)
# Receipts of older java-tron nodes have Tron's prefix byte before the emitter.
_ADDRESS: Final = re.compile(r"0x(?:41)?[0-9a-fA-F]{40}", re.ASCII)
_REMEMBERED: Final = 4_096
_LATEST_TIME: Final = 4_102_444_800  # the year 2100; later times are invalid


def read_bloom(answer: Any) -> int:
    """Read a header's `logsBloom`; an invalid one counts as `SILENT`."""
    if not isinstance(answer, str) or not _WRITTEN_BLOOM.fullmatch(answer):
        return SILENT
    return int(answer, 16)


def read_base_fee(answer: Any) -> int | None:
    """Read a header's `baseFeePerGas` (EIP-1559), in wei; None where there is no price, as on Tron, or no number.

    It decides nothing about money, so a wrong one does not make a block unreadable.
    """
    if not isinstance(answer, str) or not _QUANTITY.fullmatch(answer):
        return None
    return int(answer, 16) or None


@lru_cache(maxsize=4_096)
def bits_of(item: str) -> int:
    """Return the bits that stand for an address or a topic, written as 0x and hex."""
    digest = keccak(bytes.fromhex(item[2:]))
    places = {int.from_bytes(digest[at : at + 2], "big") % _BLOOM_BITS for at in range(0, 6, 2)}
    return sum(1 << place for place in places)


def is_telling(bloom: int, *, names: int) -> bool:
    """Return whether the filter has few enough bits set that this many names rarely match by chance."""
    return bool(names * (bloom.bit_count() / _BLOOM_BITS) ** 3 <= _MOST_FALSE_MATCHES)


def may_hold(bloom: int, items: Iterable[str]) -> bool:
    """Whether a block with this filter may have one of these addresses or topics; False is certain."""
    return any(bits & bloom == bits for bits in map(bits_of, items))


class TransferLog(NamedTuple):
    """A Transfer log, read. `token` is the emitter in lower case."""

    tx_hash: str
    log_index: int
    token: str
    units: int
    sender: bytes
    recipient: bytes
    height: int
    block_hash: str


def quantity(answer: Any) -> int:
    """Read a number. Raises MalformedAnswerError."""
    return _number_of(_text(answer, "a number is not a number"))


def word(answer: Any) -> str:
    """Read 32 bytes; return them as 0x and lower-case hex. Raises MalformedAnswerError."""
    return _word_of(_text(answer, "a hash is not a hash"))


def _text(answer: Any, complaint: str) -> str:
    if not isinstance(answer, str):
        _refuse(complaint)
    return answer


# The logs of a block repeat its hash, its transactions and its tokens: each is checked once.
@lru_cache(maxsize=_REMEMBERED)
def _number_of(text: str) -> int:
    if not _QUANTITY.fullmatch(text):
        _refuse("a number is not a number")
    return int(text, 16)


@lru_cache(maxsize=_REMEMBERED)
def _word_of(text: str) -> str:
    if not _WORD.fullmatch(text):
        _refuse("a hash is not a hash")
    return text.lower()


@lru_cache(maxsize=_REMEMBERED)
def _amount_of(text: str) -> int:
    if not _WORD.fullmatch(text):
        _refuse("an amount is not 32 bytes")
    return int(text, 16)


@dataclass(frozen=True, slots=True)
class Header(BlockRef):
    """A block, with its bloom filter as `read_bloom` returns it, and the price of one gas in it as `read_base_fee` does."""

    bloom: int = field(default=SILENT, repr=False)
    base_fee: int | None = field(default=None, repr=False, compare=False)


def block_ref(answer: Any, *, height: int | None = None) -> Header:
    """Read a block's header. Raises ChainUnavailableError if the node has no such block, MalformedAnswerError."""
    if answer is None:
        raise ChainUnavailableError("the node does not have a block it was asked for")
    if not isinstance(answer, dict):
        _refuse("a block is not an object")
    number, seconds = quantity(answer.get("number")), quantity(answer.get("timestamp"))
    if height is not None and number != height:
        _refuse("another block came than was asked for")
    if seconds > _LATEST_TIME:
        _refuse("a block is from far in the future")
    return Header(
        height=number,
        hash=word(answer.get("hash")),
        parent_hash=word(answer.get("parentHash")),
        time=datetime.fromtimestamp(seconds, UTC),
        bloom=read_bloom(answer.get("logsBloom")),
        base_fee=read_base_fee(answer.get("baseFeePerGas")),
    )


def told_time(order: Mapping[str, Any], receipt: Mapping[str, Any]) -> datetime | None:
    """Return the time of a transaction's block, if its logs or the transaction report it consistently.

    Newer nodes do (`blockTimestamp`); some have reported zero.
    """
    logs = receipt.get("logs")
    parts = [order, *(logs if isinstance(logs, list) else [])]
    try:
        told = [_field(part, "blockTimestamp") for part in parts]
        times = {quantity(one) for one in told if one is not None} - {0}
    except MalformedAnswerError:
        # The block can be requested instead, so a wrong time does not cause a payment to be refused.
        return None
    if len(times) != 1 or max(times) > _LATEST_TIME:
        return None
    return datetime.fromtimestamp(times.pop(), UTC)


def sided_logs(logs: Any, *, block_hash: str | None = None) -> list[SidedLog]:
    """Return the two sides of Transfer logs, checking only what that needs: most logs are not ours.

    `block_hash` is the block they must be of. Raises MalformedAnswerError, ReorgDuringReadError.
    """
    if not isinstance(logs, list):
        _refuse("logs are not a list")
    found = []
    try:
        for log in logs:
            topics = log["topics"]
            if block_hash is not None and log["blockHash"] != block_hash:
                raise ReorgDuringReadError("logs are of another block")
            if topics[0] != TRANSFER:
                _refuse("logs of another event came than were asked for")
            if len(topics) != _TRANSFER_TOPICS:
                continue
            _, sender, recipient = topics
            if len(sender) != 66 or len(recipient) != 66:
                _refuse("a topic is not 32 bytes")
            found.append((_unhex(sender[26:]), _unhex(recipient[26:]), log))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        _refuse("a log is malformed")
    return found


def sides_of(told: Iterable[Sequence[SidedLog]]) -> set[bytes]:
    """Return the senders and recipients of several answers' logs."""
    return {side for logs in told for log in logs for side in log[:2]}


def transfer_logs(
    logs: Iterable[SidedLog], *, tokens: Mapping[str, object], paddings: tuple[str, ...] = (PADDING,)
) -> list[TransferLog]:
    """Parse our logs, leaving out other emitters, zero amounts and transfers to oneself.

    `tokens` are the allow-listed contracts in lower case; one of `paddings` stands before each address. Raises
    MalformedAnswerError, ReorgDuringReadError.
    """
    read = [transfer_log(log, paddings) for log in logs]
    return [log for log in read if log.token in tokens and log.units > 0 and log.sender != log.recipient]


def transfer_log(log: SidedLog, paddings: tuple[str, ...] = (PADDING,)) -> TransferLog:
    """Parse one Transfer log, from any emitter. Raises MalformedAnswerError, ReorgDuringReadError."""
    sender, recipient, told = log
    if told.get("removed") not in (None, False):
        raise ReorgDuringReadError("a log was removed while it was read")
    try:
        topics, tx_hash, index, emitter, data, height, block_hash = _FIELDS(told)
        # `fromhex` skips spaces, which make a side shorter.
        if len(sender) != _KEY_BYTES or len(recipient) != _KEY_BYTES:
            _refuse("a topic is not 32 bytes")
        if not (topics[1].startswith(paddings) and topics[2].startswith(paddings)):
            _refuse("a topic is longer than an address")
        # By position: keyword arguments would double the cost.
        return TransferLog(
            _word_of(tx_hash),
            _number_of(index),
            _address_of(emitter),
            _amount_of(data),
            sender,
            recipient,
            _number_of(height),
            _word_of(block_hash),
        )
    except (KeyError, TypeError):
        # A field is absent, or is not text.
        _refuse("a log is malformed")


@dataclass(frozen=True, slots=True)
class ReceiptPositions:
    """The ordinal of each Transfer log within its transaction, by log index, for all emitters.

    Unlike the index within the block, the ordinal stays the same when the transaction is mined again in another block.
    """

    block_hash: str
    by_log_index: Mapping[int, int]

    def position_of(self, log: TransferLog) -> int:
        """Return a log's ordinal. Raises ReorgDuringReadError if the receipt is of another block, MalformedAnswerError."""
        if self.block_hash != log.block_hash:
            raise ReorgDuringReadError("a transaction moved while it was read")
        position = self.by_log_index.get(log.log_index)
        if position is None:
            _refuse("a receipt does not hold its own log")
        return position


def receipt_positions(receipt: Any, *, tx_hash: str) -> ReceiptPositions:
    """Parse a receipt. Raises ChainUnavailableError if the node has none, MalformedAnswerError."""
    if receipt is None:
        # A reorg just removed it, or this node has pruned it, but another may have it.
        raise ChainUnavailableError("the node lacks the receipt of a log it told")
    try:
        if word(receipt["transactionHash"]) != tx_hash:
            _refuse("another receipt came than was asked for")
        if receipt["status"] != "0x1":
            _refuse("a failed transaction has logs")
        indexes = check_order(transfer_entries(receipt))
        block_hash = word(receipt["blockHash"])
    except (KeyError, IndexError, TypeError):
        _refuse("a receipt is malformed")
    by_log_index = {index: position for position, index in enumerate(indexes)}
    return ReceiptPositions(block_hash=block_hash, by_log_index=by_log_index)


def check_order(entries: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the log indexes of a receipt's logs. Raises MalformedAnswerError unless each is above the one before."""
    indexes = [quantity(entry.get("logIndex")) for entry in entries]
    if indexes != sorted(set(indexes)):
        _refuse("a receipt's logs are out of order")
    return indexes


def transfer_entries(receipt: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a receipt's Transfer logs as received, in order. Raises KeyError, IndexError, TypeError."""
    return [
        entry
        for entry in receipt["logs"]
        if len(entry["topics"]) == _TRANSFER_TOPICS and entry["topics"][0] == TRANSFER
    ]


def told_logs(receipts: Any) -> list[Mapping[str, Any]]:
    """Return the Transfer logs of a block's receipts, as received. Raises MalformedAnswerError."""
    try:
        return [entry for receipt in receipts for entry in transfer_entries(receipt)]
    except (KeyError, IndexError, TypeError):
        _refuse("a block's receipts are malformed")


class ToldTransfer(NamedTuple):
    """A transfer in a receipt. `token` is the emitter in lower case."""

    position: int
    token: str
    units: int
    recipient: bytes
    block_hash: str


def told_transfers(receipt: Any, *, tx_hash: str, tokens: Collection[str]) -> frozenset[ToldTransfer]:
    """Return a receipt's transfers of some tokens (lower case).

    Empty if the node has no receipt, or if the transaction failed. Raises MalformedAnswerError.
    """
    if receipt is None or _field(receipt, "status") == "0x0":
        return frozenset()
    places = receipt_positions(receipt, tx_hash=tx_hash)
    return frozenset(
        ToldTransfer(
            position=places.by_log_index[index],
            token=token,
            units=int(word(entry.get("data")), 16),
            recipient=bytes.fromhex(word(entry["topics"][2])[26:]),
            block_hash=places.block_hash,
        )
        for entry in receipt["logs"]
        if (index := quantity(entry["logIndex"])) in places.by_log_index
        # Other contracts' logs may contain anything.
        and (token := _address_of(_text(entry.get("address"), "no emitter"))) in tokens
    )


def address(answer: Any) -> str:
    """Read an address; return it as 0x and 40 digits in lower case. Raises MalformedAnswerError."""
    return _address_of(_text(answer, "an address is not an address"))


def _field(answer: Any, name: str) -> Any:
    if not isinstance(answer, dict):
        _refuse("an answer is not an object")
    return answer.get(name)


@lru_cache(maxsize=_REMEMBERED)
def _address_of(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        _refuse("an address is not an address")
    return f"0x{text[-40:].lower()}"


def _refuse(message: str) -> NoReturn:
    raise MalformedAnswerError(message)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a chain writes node answers, and what its nodes accept.

    `write_address` turns 20 bytes into the address for people, and `contract` turns that into the nodes' form: 0x and
    lower-case hex. `paddings` are the allowed paddings of an address in a topic. `tx_prefix` is the prefix of
    transaction ids shown to people; nodes always write 0x.
    """

    write_address: Callable[[bytes], str]
    contract: Callable[[str], str]
    paddings: tuple[str, ...] = (PADDING,)
    tx_prefix: str = "0x"
    # go-ethereum's limit of alternatives for a topic, and java-tron's.
    most_topics: int = 1_000
    most_blocks: int | None = None
    # Whether the finality tag alone decides, and depth may replace it on nodes without it.
    tag_suffices: bool = False
    # Whether contract calls at an earlier block are possible, and not only at the newest.
    keeps_states: bool = True
    # The least number of blocks above a final one, regardless of the node's finality tag.
    least_tag_lag: int = 0


ETHEREUM_DIALECT: Final = Dialect(write_address=checksum, contract=str.lower)
"""Ethereum and chains that match it in all of this: Base, Polygon."""
