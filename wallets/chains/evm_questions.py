"""What is asked of EVM nodes, and how: in few requests, each of a size that the node takes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from wallets.chains import evm_decode as decode
from wallets.chains.base import BlockRef, MalformedAnswerError
from wallets.chains.batches import USUAL_BATCH, ask_all, ask_in_parts
from wallets.chains.evm_blooms import SILENT, is_telling, may_hold
from wallets.chains.evm_dialect import Dialect
from wallets.chains.pool import SURVEY_SECONDS
from wallets.chains.rpc import Call, Node, RefusedError

_MOST_TOPICS_IN_A_BATCH: Final = 5_000


class LogsQuestion:
    """An `eth_getLogs` for the tokens' transfers, to the hinted recipients where they are few enough to name.

    `tokens` are contracts as the node writes them.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        hint: Collection[bytes] | None,
        *,
        dialect: Dialect,
    ) -> None:
        topics: list[Any] = [decode.TRANSFER]
        named = _named(hint or (), dialect)
        if named:
            topics += [None, named]
        self._filter: dict[str, Any] = {"address": list(tokens), "topics": topics}
        self._tokens, self._named = frozenset(tokens), frozenset(named)
        # Without an address to watch there is nothing to ask; an empty list of alternatives would mean any.
        self.can_match = hint is None or bool(hint)
        # One place of a batch is for a block.
        self.batch_size = max(
            1, min(USUAL_BATCH - 1, _MOST_TOPICS_IN_A_BATCH // (len(named) or 1))
        )

    def by_hash(self, block_hash: str) -> Call:
        """Ask for one block's transfers."""
        return "eth_getLogs", [self._filter | {"blockHash": block_hash}]

    def seems_to_match(self, block: BlockRef) -> bool:
        """Whether the block's own header speaks for a log that this asks for; it may be wrong."""
        bloom = block.bloom if isinstance(block, decode.Header) else SILENT
        tokens, named = self._tokens, self._named
        return is_telling(bloom, names=len(named or tokens)) and all(
            may_hold(bloom, items)
            for items in (tokens, [decode.TRANSFER], named or tokens)
        )

    def matches(self, log: Mapping[str, Any]) -> bool:
        """Whether this asks for a Transfer log, as a receipt tells it. Raises MalformedAnswerError."""
        recipient = decode.word(log["topics"][2])
        is_named = not self._named or recipient in self._named
        return is_named and decode.address(log.get("address")) in self._tokens

    def by_range(self, first: int, last: int) -> Call:
        """Ask for the transfers of these blocks, both included."""
        ends = {"fromBlock": hex(first), "toBlock": hex(last)}
        return "eth_getLogs", [self._filter | ends]


def _named(hint: Collection[bytes], dialect: Dialect) -> list[str]:
    """Return the topics that name these recipients; none where the nodes would not take so many."""
    if len(hint) * len(dialect.paddings) > dialect.most_topics:
        return []
    return [f"{pad}{key.hex()}" for key in sorted(hint) for pad in dialect.paddings]


def by_number(tag: int | str) -> Call:
    """Ask for a block's header, by height or tag."""
    return "eth_getBlockByNumber", [hex(tag) if isinstance(tag, int) else tag, False]


def receipt_of(tx_hash: str) -> Call:
    """Ask what a transaction did."""
    return "eth_getTransactionReceipt", [tx_hash]


def headers(node: Node, heights: Sequence[int]) -> list[BlockRef]:
    """Return these blocks in order. Raises ChainUnavailableError if the node lacks one, and other ChainErrors."""
    answers = ask_all(node, [by_number(height) for height in heights])
    return [
        decode.block_ref(answer, height=height)
        for answer, height in zip(answers, heights, strict=True)
    ]


def height_of(node: Node) -> int:
    """Return the height a node claims, or raise ChainError soon."""
    return decode.quantity(node.call("eth_blockNumber", [], seconds=SURVEY_SECONDS))


def logs_by_block(
    node: Node, blocks: Sequence[BlockRef], question: LogsQuestion
) -> list[Any]:
    """Ask for each block's logs, and in the same request for the newest block.

    Behind one address may stand many backends, and one that lacks the block may say "no logs".
    """
    found: list[Any] = []
    for start in range(0, len(blocks), question.batch_size):
        part = blocks[start : start + question.batch_size]
        newest = part[-1]
        calls = [question.by_hash(block.hash) for block in part]
        calls.append(("eth_getBlockByHash", [newest.hash, False]))
        *logs, header = ask_in_parts(node, calls)
        if decode.block_ref(header, height=newest.height).hash != newest.hash:
            raise MalformedAnswerError("another block came than was asked for")
        for block, told in zip(part, logs, strict=True):
            if told == [] and question.seems_to_match(block):
                _check_receipts(node, block, question)
        found += logs
    return found


def _check_receipts(node: Node, block: BlockRef, question: LogsQuestion) -> None:
    """Ask for a block's receipts where its header contradicts an answer of no logs.

    Raises MalformedAnswerError if they hold some that were asked for.
    """
    try:
        receipts = node.call("eth_getBlockReceipts", [block.hash])
    except RefusedError:
        # Not every node knows the question, and a header may seem to match by chance.
        return
    if any(question.matches(log) for log in decode.told_logs(receipts)):
        raise MalformedAnswerError("a node leaves out logs that its receipts hold")
