"""Batched requests to EVM nodes: few, each of a size that the node accepts."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from wallets.chains.base import BlockRef, Hint, MalformedAnswerError, RangeTooLargeError
from wallets.chains.evm import decode
from wallets.chains.evm.blooms import SILENT, is_telling, may_hold
from wallets.chains.evm.decode import SidedLog
from wallets.chains.evm.dialect import Dialect
from wallets.chains.rpc.batches import USUAL_BATCH, ask_all, ask_in_parts
from wallets.chains.rpc.client import Call, Node, RefusedError
from wallets.chains.rpc.pool import SURVEY_SECONDS

_MOST_TOPICS_IN_A_BATCH: Final = 5_000
_MANY_RECEIPTS: Final = 20
# The positions of sender and recipient among a Transfer log's topics.
_SENDER: Final = 1
_RECIPIENT: Final = 2
# The offset of an address within a topic.
_KEY: Final = len(decode.PADDING)


class LogFilter:
    """One `eth_getLogs` for the tokens' transfers with a named address on one side, or for all if none is named.

    `tokens` are contracts and `named` topics as the node writes them; `place` is theirs among a log's topics.
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

    One filter without names if there are more than nodes accept, and none if no address can match.
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
