"""Batched requests to EVM nodes, and the lookup of a transaction by its hash: everything it moved, for any recipient."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from wallets.chains.base import (
    BlockRef,
    ChainUnavailableError,
    FoundMovement,
    FoundTransaction,
    Head,
    Hint,
    MalformedAnswerError,
    RangeTooLargeError,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.evm import decode
from wallets.chains.evm.decode import SILENT, Dialect, SidedLog, ToldTransfer, TransferLog, is_telling, may_hold
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import USUAL_BATCH, Call, Node, RefusedError, ask_all, ask_in_parts
from wallets.chains.rpc.pool import SURVEY_SECONDS

_MOST_TOPICS_IN_A_BATCH: Final = 5_000
_MANY_RECEIPTS: Final = 20
# The positions of sender and recipient among a Transfer log's topics.
_SENDER: Final = 1
_RECIPIENT: Final = 2
# The offset of an address within a topic.
_KEY: Final = len(decode.PADDING)

Told = TypeVar("Told", TransferLog, ToldTransfer)

# How nodes write an absent field. A tuple and not a set: an answer that is not text may not be hashable.
_NOTHING: Final = (None, "", "0x")


class LogFilter:
    """One `eth_getLogs` for the tokens' transfers with a named address on one side, or for all if none is named.

    `tokens` are contracts and `named` are topics, both as the node writes them; `place` is the position of `named` in a log.
    """

    def __init__(self, tokens: Sequence[str], *, place: int = _RECIPIENT, named: Sequence[str] = ()) -> None:
        topics: list[Any] = [decode.TRANSFER]
        if named:
            topics += [None] * (place - 1) + [list(named)]
        self._filter: dict[str, Any] = {"address": list(tokens), "topics": topics}
        self._place = place
        self._tokens, self._named = frozenset(tokens), frozenset(named)

    @property
    def names(self) -> int:
        """Return the number of named topics."""
        return len(self._named)

    def by_hash(self, block_hash: str) -> Call:
        """Ask for one block's transfers."""
        return "eth_getLogs", [self._filter | {"blockHash": block_hash}]

    def by_range(self, first: int, last: int) -> Call:
        """Ask for the transfers of these blocks, both included."""
        ends = {"fromBlock": hex(first), "toBlock": hex(last)}
        return "eth_getLogs", [self._filter | ends]

    def seems_to_match(self, block: BlockRef, *, told: Collection[bytes]) -> bool:
        """Whether the block's header suggests a log that this asks for; it may be wrong.

        The header does not distinguish a log's two sides, so addresses reported on the other side do not count here.
        """
        bloom = block.bloom if isinstance(block, decode.Header) else SILENT
        known = {key.hex() for key in told}
        names = [topic for topic in self._named if topic[_KEY:] not in known]
        if self._named and not names:
            return False
        return is_telling(bloom, names=len(names or self._tokens)) and all(
            may_hold(bloom, items) for items in (self._tokens, [decode.TRANSFER], names or self._tokens)
        )

    def matches(self, log: Mapping[str, Any]) -> bool:
        """Return whether this asks for a Transfer log of a receipt. Raises MalformedAnswerError."""
        somebody = decode.word(log["topics"][self._place])
        is_named = not self._named or somebody in self._named
        return is_named and decode.address(log.get("address")) in self._tokens


class LogsQuestion:
    """The filters for the tokens' transfers: one for each side with hinted addresses.

    There is one filter without names if the hint has more addresses than nodes accept, and none if no address can match.
    """

    def __init__(self, tokens: Sequence[str], hint: Hint | None, *, dialect: Dialect) -> None:
        self.filters = _filters(tokens, hint, dialect)
        names = sum(one.names for one in self.filters) or 1
        # One place of a batch is reserved for the block.
        places = (USUAL_BATCH - 1) // (len(self.filters) or 1)
        self.batch_size = max(1, min(places, _MOST_TOPICS_IN_A_BATCH // names))

    @property
    def can_match(self) -> bool:
        """Whether any address can match: an empty list of alternatives would mean any."""
        return bool(self.filters)

    def by_hash(self, block_hash: str) -> list[Call]:
        """Ask for one block's transfers."""
        return [one.by_hash(block_hash) for one in self.filters]

    def by_range(self, first: int, last: int) -> list[Call]:
        """Ask for the transfers of these blocks, both included."""
        return [one.by_range(first, last) for one in self.filters]


def _filters(tokens: Sequence[str], hint: Hint | None, dialect: Dialect) -> list[LogFilter]:
    most = dialect.most_topics // len(dialect.paddings)
    if hint is None or max(len(hint.recipients), len(hint.senders)) > most:
        return [LogFilter(tokens)]
    return [
        LogFilter(tokens, place=place, named=_topics(keys, dialect))
        for place, keys in ((_RECIPIENT, hint.recipients), (_SENDER, hint.senders))
        if keys
    ]


def _topics(keys: Collection[bytes], dialect: Dialect) -> list[str]:
    return [f"{pad}{key.hex()}" for key in sorted(keys) for pad in dialect.paddings]


def by_number(tag: int | str) -> Call:
    """Ask for a block's header, by height or tag."""
    return "eth_getBlockByNumber", [hex(tag) if isinstance(tag, int) else tag, False]


def receipt_of(tx_hash: str) -> Call:
    """Ask for a transaction's receipt."""
    return "eth_getTransactionReceipt", [tx_hash]


def receipts(node: Node, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return receipts by transaction hash; `wanted` maps each hash to its block's hash.

    They are not checked. If many of one block are wanted, all its receipts come in one request, so a busy wallet does not
    cost a request per movement.
    """
    counts = Counter(wanted.values())
    busy = [block for block, count in counts.items() if count >= _MANY_RECEIPTS]
    found: dict[str, Any] = {}
    for block_hash in busy:
        found |= _receipts_of_block(node, block_hash)
    lacking = [tx_hash for tx_hash in wanted if tx_hash not in found]
    answers = ask_all(node, [receipt_of(tx_hash) for tx_hash in lacking])
    found |= zip(lacking, answers, strict=True)
    return {tx_hash: found[tx_hash] for tx_hash in wanted}


def _receipts_of_block(node: Node, block_hash: str) -> dict[str, Any]:
    """Return a block's receipts; none if the node cannot return them together: they can be requested one by one."""
    try:
        told = node.call("eth_getBlockReceipts", [block_hash])
    except (RefusedError, RangeTooLargeError):
        return {}
    receipts = told if isinstance(told, list) else []
    return {
        receipt["transactionHash"]: receipt
        for receipt in receipts
        if isinstance(receipt, dict) and isinstance(receipt.get("transactionHash"), str)
    }


def headers(node: Node, heights: Sequence[int]) -> list[BlockRef]:
    """Return these blocks in order. Raises ChainUnavailableError if the node lacks one, and other ChainErrors."""
    answers = ask_all(node, [by_number(height) for height in heights])
    return [decode.block_ref(answer, height=height) for answer, height in zip(answers, heights, strict=True)]


def height_of(node: Node) -> int:
    """Return a node's head height, or raise ChainError soon."""
    return decode.quantity(node.call("eth_blockNumber", [], seconds=SURVEY_SECONDS))


def logs_by_block(node: Node, blocks: Sequence[BlockRef], question: LogsQuestion) -> list[list[list[SidedLog]]]:
    """Request each block's logs, with the newest block in the same request; return each block's answers, one per filter.

    One address may have many backends, and one that lacks the block may answer "no logs".
    """
    found: list[list[list[SidedLog]]] = []
    for start in range(0, len(blocks), question.batch_size):
        part = blocks[start : start + question.batch_size]
        newest = part[-1]
        calls = [call for block in part for call in question.by_hash(block.hash)]
        calls.append(("eth_getBlockByHash", [newest.hash, False]))
        *logs, header = ask_in_parts(node, calls)
        if decode.block_ref(header, height=newest.height).hash != newest.hash:
            raise MalformedAnswerError("another block came than was asked for")
        width = len(question.filters)
        for place, block in enumerate(part):
            answers = logs[place * width : (place + 1) * width]
            told = [decode.sided_logs(one, block_hash=block.hash) for one in answers]
            _check_silence(node, block, told, question)
            found.append(told)
    return found


def as_recorded(log: Told, tokens: Mapping[str, TokenSpec]) -> Told:
    """Return a transfer that a node told with the units that are recorded of it; that of a contract which is not listed as it is."""
    token = tokens.get(log.token)
    return log if token is None or not token.cut_decimals else log._replace(units=token.recorded_units(log.units))


def _check_silence(node: Node, block: BlockRef, told: Sequence[Sequence[SidedLog]], question: LogsQuestion) -> None:
    """Request a block's receipts if its header contradicts an answer of no logs.

    Raises MalformedAnswerError if they hold requested logs.
    """
    sides = decode.sides_of(told)
    doubtful = [
        one
        for one, logs in zip(question.filters, told, strict=True)
        if not logs and one.seems_to_match(block, told=sides)
    ]
    if not doubtful:
        return
    try:
        receipts = node.call("eth_getBlockReceipts", [block.hash])
    except (RefusedError, RangeTooLargeError):
        # Not every node supports the method or can send that much, and a header may match by chance.
        return
    logs = decode.told_logs(receipts)
    if any(one.matches(log) for one in doubtful for log in logs):
        raise MalformedAnswerError("a node leaves out logs that its receipts hold")


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on nodes of one chain.

    `tokens` are the listed contracts as nodes write them; their units are returned as they are recorded. `write` converts a log to a TokenTransfer, given its block and
    position. `ask` sends calls to a node, and asks for its newest block in the same request. `final_through` returns, from
    that or by asking, the height up to which transactions are final, with the rule for large ones if wanted.
    """

    spec: ChainSpec
    dialect: Dialect
    tokens: Mapping[str, TokenSpec]
    write: Callable[[TransferLog, BlockRef, int], TokenTransfer]
    ask: Callable[[Node, Sequence[Call]], tuple[list[Any], Head]]
    final_through: Callable[[Node, Head, bool], int]

    def find(self, node: Node, tx_hash: str) -> FoundTransaction | None:
        """Return a transaction, None if the node does not know it. Raises ChainError.

        `tx_hash` is in the chain's own spelling. One request is enough if the node reports block times beside transactions.
        """
        name = "0x" + tx_hash.removeprefix(self.dialect.tx_prefix)
        calls = [("eth_getTransactionByHash", [name]), receipt_of(name)]
        (order, receipt), head = self.ask(node, calls)
        if order is None and receipt is None:
            return None
        order = _order(order, name)
        if receipt is not None:
            return self._mined(node, tx_hash, name, order, receipt, head)
        if order.get("blockHash") not in _NOTHING:
            raise ChainUnavailableError("the node lacks the receipt of a transaction")
        return self._found(tx_hash, succeeded=True)

    def _mined(
        self, node: Node, tx_hash: str, name: str, order: Mapping[str, Any], receipt: Any, head: Head
    ) -> FoundTransaction:
        block = _block_of(node, order, receipt, name, newest=head.block)
        if _has_failed(receipt):
            final = self.final_through(node, head, False)
            return self._found(tx_hash, block, head, succeeded=False, final=final)
        logs = dict(self._logs(receipt, name, block))
        transfers = [
            self.write(log, block, position)
            for position, log in logs.items()
            if log.token in self.tokens and _is_movement(log)
        ]
        final = self.final_through(node, head, self._is_large(transfers))
        told = [*self._coin(order), *(self._movement(log, at) for at, log in logs.items() if log.units)]
        return self._found(
            tx_hash,
            block,
            head,
            succeeded=True,
            final=final,
            movements=tuple(one for one in told if one.sender != one.recipient),
            transfers=tuple(transfers),
            to_oneself=tuple(one for one in told if one.sender == one.recipient),
        )

    def _found(
        self,
        tx_hash: str,
        block: BlockRef | None = None,
        head: Head | None = None,
        *,
        succeeded: bool,
        final: int = -1,
        movements: tuple[FoundMovement, ...] = (),
        transfers: tuple[TokenTransfer, ...] = (),
        to_oneself: tuple[FoundMovement, ...] = (),
    ) -> FoundTransaction:
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=tx_hash,
            succeeded=succeeded,
            is_final=block is not None and block.height <= final,
            block_height=None if block is None else block.height,
            block_time=None if block is None else block.time,
            movements=movements,
            transfers=transfers,
            head=None if head is None else head.block.height,
            to_oneself=to_oneself,
        )

    def _logs(self, receipt: Any, name: str, block: BlockRef) -> Iterator[tuple[int, TransferLog]]:
        """Return the Transfer logs by position; malformed logs of other contracts are left out."""
        if decode.receipt_positions(receipt, tx_hash=name).block_hash != block.hash:
            raise ReorgDuringReadError("a transaction moved while it was looked up")
        for position, entry in enumerate(decode.transfer_entries(receipt)):
            try:
                log = self._log(entry)
            except MalformedAnswerError:
                if decode.address(entry.get("address")) in self.tokens:
                    raise
                continue
            place = (name, block.hash, block.height)
            if (log.tx_hash, log.block_hash, log.height) != place:
                raise MalformedAnswerError("a receipt has another transaction's log")
            yield position, as_recorded(log, self.tokens)

    def _log(self, entry: Mapping[str, Any]) -> TransferLog:
        [sided] = decode.sided_logs([entry])
        return decode.transfer_log(sided, self.dialect.paddings)

    def _is_large(self, transfers: list[TokenTransfer]) -> bool:
        large = self.spec.large_units
        return large is not None and any(one.units >= large for one in transfers)

    def _coin(self, order: Mapping[str, Any]) -> Iterator[FoundMovement]:
        """Return the transfer of the chain's own coin. A transaction without a recipient creates a contract."""
        if order.get("to") in _NOTHING or order.get("value") in _NOTHING:
            return
        sender, recipient = (bytes.fromhex(decode.address(order.get(name))[2:]) for name in ("from", "to"))
        units = _amount(order["value"])
        if units:
            yield FoundMovement(
                token=None,
                token_address="",
                units=units,
                sender=self.dialect.write_address(sender),
                recipient=self.dialect.write_address(recipient),
                recipient_key=recipient,
                position=0,
            )

    def _movement(self, log: TransferLog, position: int) -> FoundMovement:
        emitter = self.dialect.write_address(bytes.fromhex(log.token[2:]))
        listed = self.tokens.get(log.token)
        return FoundMovement(
            token=listed.symbol if listed is not None else None,
            token_address=emitter,
            units=log.units,
            sender=self.dialect.write_address(log.sender),
            recipient=self.dialect.write_address(log.recipient),
            recipient_key=log.recipient,
            position=position,
        )


def _order(answer: Any, name: str) -> Mapping[str, Any]:
    """Return the transaction as it was sent."""
    if not isinstance(answer, dict) or decode.word(answer.get("hash")) != name:
        raise MalformedAnswerError("another transaction came than was asked for")
    return answer


def _block_of(node: Node, order: Mapping[str, Any], receipt: Any, name: str, *, newest: BlockRef) -> BlockRef:
    """Return a receipt's block, checked to be still in the node's chain."""
    if not isinstance(receipt, dict) or decode.word(receipt.get("transactionHash")) != name:
        raise MalformedAnswerError("another receipt came than was asked for")
    if (told := _told_block(order, receipt, newest)) is not None:
        return told
    height = decode.quantity(receipt.get("blockNumber"))
    block = decode.block_ref(node.call(*by_number(height)), height=height)
    if block.hash != decode.word(receipt.get("blockHash")):
        raise ReorgDuringReadError("a transaction moved while it was looked up")
    return block


def _told_block(order: Mapping[str, Any], receipt: Mapping[str, Any], newest: BlockRef) -> BlockRef | None:
    """Return the block of a transaction from the answers; None if it must be requested.

    It must be requested if the two answers name different blocks, if the newest block does not follow it, or if neither
    answer has its time, as with older nodes.
    """
    height = decode.quantity(receipt.get("blockNumber"))
    block_hash = decode.word(receipt.get("blockHash"))
    places = [(one.get("blockNumber"), one.get("blockHash")) for one in (order, receipt)]
    if places[0] != places[1] or height > newest.height:
        return None
    known = {newest.height: newest.hash, newest.height - 1: newest.parent_hash}
    if known.get(height, block_hash) != block_hash:
        return None
    if height == newest.height:
        return newest
    time = decode.told_time(order, receipt)
    if time is None or time > newest.time:
        return None
    return BlockRef(height=height, hash=block_hash, parent_hash="", time=time)


def _has_failed(receipt: Mapping[str, Any]) -> bool:
    return bool(receipt.get("status") == "0x0")


def _is_movement(log: TransferLog) -> bool:
    return log.units > 0 and log.sender != log.recipient


def _amount(answer: Any) -> int:
    """Read an amount of coin, of at most 32 bytes."""
    digits = answer[2:] if isinstance(answer, str) and answer.startswith("0x") else ""
    return int(decode.word(f"0x{digits:0>64}"), 16)
