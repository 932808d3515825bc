"""Reads token transfers from EVM nodes, by raw JSON-RPC: web3's decoding measured 73 times slower."""

import time
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, Final

from wallets.chains import evm_decode as decode
from wallets.chains.base import (
    BlockRef,
    ChainUnavailableError,
    Head,
    MalformedAnswerError,
    OursAsker,
    RangeTooLargeError,
    Reading,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.evm_decode import TransferLog
from wallets.chains.pool import SURVEY_SECONDS, RpcPool
from wallets.chains.registry import ChainSpec
from wallets.chains.rpc import Call, Node
from wallets.forwarder import checksum

NEAR_TIP: Final = 64
"""This close to the head blocks are asked one by one, by hash: a node that lags then says so instead of "no logs"."""

MOST_RECIPIENTS: Final = 1_000
"""go-ethereum's limit of alternatives for a topic."""

_BATCH: Final = 50
_MOST_TOPICS_IN_A_BATCH: Final = 5_000
_SURVEY_EVERY: Final = 5.0
_SLACK_BLOCKS: Final = 3
_LAG_REST: Final = 10.0


class EvmAdapter:
    """One EVM chain through a pool of its nodes."""

    def __init__(
        self,
        spec: ChainSpec,
        pool: RpcPool,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._pool = pool
        self._clock = clock
        self._tokens = {token.address.lower(): token for token in spec.tokens.values()}
        self._next_survey = 0.0
        self._height_elsewhere = -1

    @property
    def requests(self) -> int:
        """How many requests were sent to nodes so far, batches counted by what is in them."""
        return self._pool.requests

    def head(self) -> Head:
        """Return the newest block; now and then compare it with what the other nodes say, and prefer who is ahead."""
        block, finalized = self._pool.run(self._ask_head)
        if self._clock() >= self._next_survey:
            heights = self._pool.survey(_ask_height)
            self._height_elsewhere = max(heights, default=-1)
            self._next_survey = self._clock() + _SURVEY_EVERY
        agreed = block.height + _SLACK_BLOCKS >= self._height_elsewhere
        if not agreed:
            self._pool.rest_current(_LAG_REST)
        return Head(block=block, agreed=agreed, finalized=finalized)

    def genesis(self) -> str:
        """Return the first block's hash, told by a node that was asked just now which chain it belongs to."""
        self._pool.doubt()
        [block] = self.blocks([0])
        return block.hash

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the height below which blocks are final: deep enough in what was read, and behind the chain's tag."""
        deep_enough = read_height - self._spec.confirmations + 1
        if head.finalized is None:
            return deep_enough
        return min(deep_enough, head.finalized)

    def blocks(self, heights: Sequence[int]) -> list[BlockRef]:
        """Return these blocks. Raises ChainUnavailableError if a node lacks one."""
        return self._pool.run(lambda node: _headers(node, heights))

    def read(
        self,
        first: int,
        last: int,
        *,
        head: Head,
        hint: Collection[bytes] | None,
        ours: OursAsker,
    ) -> Reading:
        """Read a window on one node: by block near the tip, as a range far behind it."""
        question = _LogsQuestion(tuple(self._tokens), hint)
        read = (
            self._read_blocks
            if head.block.height - last < NEAR_TIP
            else self._read_range
        )

        def ask(node: Node) -> Reading:
            try:
                return read(node, first, last, head=head, question=question, ours=ours)
            except RangeTooLargeError as error:
                if first < last:
                    raise
                # There is no smaller window; another node may take it.
                raise ChainUnavailableError(str(error)) from error

        return self._pool.run(ask)

    def call(self, method: str, params: list[Any]) -> Any:
        """Ask any node something else."""
        return self._pool.call(method, params)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _ask_head(self, node: Node) -> tuple[BlockRef, int | None]:
        tag = self._spec.finality_tag
        calls = [_by_number("latest")] + ([_by_number(tag)] if tag else [])
        latest, *tagged = node.batch(calls) if tag else [node.call(*calls[0])]
        finalized = decode.block_ref(tagged[0]).height if tagged else None
        return decode.block_ref(latest), finalized

    def _read_blocks(
        self,
        node: Node,
        first: int,
        last: int,
        *,
        head: Head,
        question: "_LogsQuestion",
        ours: OursAsker,
    ) -> Reading:
        blocks = self._linked_headers(node, first, last, head)
        asked = blocks if question.can_match else []
        answers = _logs_by_block(node, asked, question)
        sorted_logs = [
            decode.by_recipient(logs, block_hash=block.hash)
            for logs, block in zip(answers, asked, strict=True)
        ]
        wanted = ours({key for by_key in sorted_logs for key in by_key})
        logs = [log for by_key in sorted_logs for log in self._matching(by_key, wanted)]
        return Reading(
            first=first,
            last=last,
            parent_hash=blocks[0].parent_hash,
            blocks=blocks,
            transfers=self._transfers(node, logs, blocks),
        )

    def _linked_headers(
        self, node: Node, first: int, last: int, head: Head
    ) -> list[BlockRef]:
        known = [head.block] if last == head.block.height else []
        blocks = _headers(node, range(first, last + 1 - len(known))) + known
        for parent, child in pairwise(blocks):
            if child.parent_hash != parent.hash:
                raise ReorgDuringReadError(
                    "the blocks of a window do not follow each other"
                )
        return blocks

    def _read_range(
        self,
        node: Node,
        first: int,
        last: int,
        *,
        head: Head,
        question: "_LogsQuestion",
        ours: OursAsker,
    ) -> Reading:
        del head
        # The last header in the same request: a node that lags lacks it, and would answer "no logs".
        calls = [_by_number(first), _by_number(last)]
        calls += [question.by_range(first, last)] if question.can_match else []
        answers = _ask_in_parts(node, calls)
        ends, logs = answers[:2], answers[2] if question.can_match else []
        first_block, last_block = (
            decode.block_ref(end, height=height)
            for end, height in zip(ends, (first, last), strict=True)
        )
        by_key = decode.by_recipient(logs)
        found = self._matching(by_key, ours(set(by_key)))
        if any(not first <= log.height <= last for log in found):
            raise MalformedAnswerError("a log lies outside of the range asked for")
        heights = sorted({log.height for log in found} - {last})
        blocks = [*_headers(node, heights), last_block]
        return Reading(
            first=first,
            last=last,
            parent_hash=first_block.parent_hash,
            blocks=blocks,
            transfers=self._transfers(node, found, blocks),
        )

    def _matching(
        self, by_key: dict[bytes, list[dict[str, Any]]], wanted: Collection[bytes]
    ) -> list[TransferLog]:
        ours = {key: logs for key, logs in by_key.items() if key in wanted}
        return decode.transfer_logs(ours, tokens=self._tokens)

    def _transfers(
        self, node: Node, logs: Sequence[TransferLog], blocks: Sequence[BlockRef]
    ) -> list[TokenTransfer]:
        """Give the logs their block's time and their place in their transaction, which its receipt tells."""
        by_height = {block.height: block for block in blocks}
        hashes = list(dict.fromkeys(log.tx_hash for log in logs))
        calls: list[Call] = [("eth_getTransactionReceipt", [tx]) for tx in hashes]
        positions = {
            tx_hash: decode.receipt_positions(receipt, tx_hash=tx_hash)
            for tx_hash, receipt in zip(hashes, _batched(node, calls), strict=True)
        }
        transfers = []
        for log in logs:
            block = by_height[log.height]
            if log.block_hash != block.hash:
                raise ReorgDuringReadError("logs and headers are of different blocks")
            position = positions[log.tx_hash].position_of(log)
            transfers.append(self._transfer(log, block, position))
        if len({(one.tx_hash, one.position) for one in transfers}) < len(transfers):
            raise MalformedAnswerError("a log came twice")
        return transfers

    def _transfer(
        self, log: TransferLog, block: BlockRef, position: int
    ) -> TokenTransfer:
        token = self._tokens[log.token]
        return TokenTransfer(
            chain=self._spec.name,
            tx_hash=log.tx_hash,
            position=position,
            token=token.symbol,
            token_address=token.address,
            units=log.units,
            sender=checksum(log.sender),
            recipient_key=log.recipient,
            recipient=checksum(log.recipient),
            block_height=block.height,
            block_hash=block.hash,
            block_time=block.time,
        )


class _LogsQuestion:
    """An `eth_getLogs` for the tokens' transfers, to the hinted recipients where they are few enough to name."""

    def __init__(self, tokens: Sequence[str], hint: Collection[bytes] | None) -> None:
        topics: list[Any] = [decode.TRANSFER]
        named = (
            sorted(hint) if hint is not None and len(hint) <= MOST_RECIPIENTS else []
        )
        if named:
            topics += [None, [f"0x{bytes(12).hex()}{key.hex()}" for key in named]]
        self._filter: dict[str, Any] = {"address": list(tokens), "topics": topics}
        # Without an address to watch there is nothing to ask; an empty list of alternatives would mean any.
        self.can_match = hint is None or bool(hint)
        # One place of a batch is for a block.
        self.batch_size = max(
            1, min(_BATCH - 1, _MOST_TOPICS_IN_A_BATCH // (len(named) or 1))
        )

    def by_hash(self, block_hash: str) -> Call:
        return "eth_getLogs", [self._filter | {"blockHash": block_hash}]

    def by_range(self, first: int, last: int) -> Call:
        ends = {"fromBlock": hex(first), "toBlock": hex(last)}
        return "eth_getLogs", [self._filter | ends]


def _by_number(tag: int | str) -> Call:
    return "eth_getBlockByNumber", [hex(tag) if isinstance(tag, int) else tag, False]


def _headers(node: Node, heights: Sequence[int]) -> list[BlockRef]:
    answers = _batched(node, [_by_number(height) for height in heights])
    return [
        decode.block_ref(answer, height=height)
        for answer, height in zip(answers, heights, strict=True)
    ]


def _logs_by_block(
    node: Node, blocks: Sequence[BlockRef], question: _LogsQuestion
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
        *logs, header = _ask_in_parts(node, calls)
        if decode.block_ref(header, height=newest.height).hash != newest.hash:
            raise MalformedAnswerError("another block came than was asked for")
        found += logs
    return found


def _batched(node: Node, calls: Sequence[Call]) -> list[Any]:
    answers: list[Any] = []
    for start in range(0, len(calls), _BATCH):
        answers += _ask_in_parts(node, calls[start : start + _BATCH])
    return answers


def _ask_in_parts(node: Node, calls: Sequence[Call]) -> list[Any]:
    """Ask in one request, or in smaller ones where the node takes no more or the answer grows too large."""
    if len(calls) == 1:
        return [node.call(*calls[0])]
    try:
        return node.batch(calls)
    except RangeTooLargeError:
        half = len(calls) // 2
        return _ask_in_parts(node, calls[:half]) + _ask_in_parts(node, calls[half:])


def _ask_height(node: Node) -> int:
    return decode.quantity(node.call("eth_blockNumber", [], seconds=SURVEY_SECONDS))
