"""Reads token transfers from EVM nodes, by raw JSON-RPC: web3's decoding was measured 73 times slower."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from math import ceil
from typing import Any, Final

from wallets.chains.base import (
    BlockRef,
    FoundTransaction,
    Head,
    Hint,
    MalformedAnswerError,
    OursAsker,
    RangeTooLargeError,
    Reading,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.evm import decode
from wallets.chains.evm.decode import ETHEREUM_DIALECT, Dialect, SidedLog, ToldTransfer, TransferLog
from wallets.chains.evm.find import (
    Finder,
    LogsQuestion,
    as_recorded,
    by_number,
    headers,
    height_of,
    logs_by_block,
    receipt_of,
    receipts,
)
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.client import Call, Node, RefusedError, ask_all, ask_in_parts
from wallets.chains.rpc.pool import RpcPool

NEAR_TIP: Final = 64
"""This close to the head, blocks are requested one by one, by hash: a lagging node then reports that instead of "no logs"."""

FINALITY_TAG: Final = "finalized"

_SURVEY_EVERY: Final = 5.0
# Nodes are asked one after another, and hear of a block at different times: three blocks, or these seconds where blocks are shorter.
_SLACK_BLOCKS: Final = 3
_SLACK_SECONDS: Final = 6
_LAG_REST: Final = 10.0
# Ethereum's finality takes 13 to 19 minutes, and its rollups' follows it.
_SURELY_FINAL_SECONDS: Final = 1_200
_TAG_RETRY_SECONDS: Final = 600.0


class EvmAdapter:
    """One EVM chain through a pool of its nodes."""

    def __init__(
        self,
        spec: ChainSpec,
        pool: RpcPool,
        *,
        dialect: Dialect = ETHEREUM_DIALECT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._pool = pool
        self._dialect = dialect
        self._clock = clock
        self._tokens = {dialect.contract(token.address): token for token in spec.tokens.values()}
        # Nodes that do not support the finality tag, and when to try again.
        self._tagless: dict[Node, float] = {}
        self._next_survey = 0.0
        self._height_elsewhere = -1
        self._slack = max(_SLACK_BLOCKS, ceil(_SLACK_SECONDS / spec.block_seconds))

    @property
    def requests(self) -> int:
        """Return how many requests were sent to nodes so far; each call of a batch counts."""
        return self._pool.requests

    def head(self) -> Head:
        """Return the newest block; sometimes compare it with other nodes' heads, and prefer the node that is ahead."""
        _, head = self._pool.run(lambda node: self._ask_beside(node, ()))
        if self._clock() >= self._next_survey:
            heights = self._pool.survey(height_of)
            self._height_elsewhere = max(heights, default=-1)
            self._next_survey = self._clock() + _SURVEY_EVERY
        agreed = head.block.height + self._slack >= self._height_elsewhere
        if not agreed:
            self._pool.rest_current(_LAG_REST)
        return replace(head, agreed=agreed)

    def genesis(self) -> str:
        """Return the first block's hash, from a node whose chain was just checked."""
        self._pool.doubt()
        [block] = self.blocks([0])
        return block.hash

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the height up to which blocks are final.

        Final blocks have enough read blocks above them, and are not above the chain's finality tag if it has one. On Tron
        only the tag counts, and depth only if no node supports the tag.
        """
        deep_enough = read_height - self._spec.confirmations + 1
        if head.finalized is None:
            return deep_enough
        if self._dialect.tag_suffices:
            return min(read_height, head.finalized)
        return min(deep_enough, head.finalized)

    def finalized(self) -> int:
        """Return the height of the node's `finalized` block, which large amounts wait for.

        For a node without the tag, depth decides: as many blocks as the chain makes in the longest time of Ethereum's
        finality. Local chains and Tron count their usual confirmations.
        """
        return self._pool.run(self._ask_finalized)

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        """Return those of the transfers that a second node's receipts confirm; None if there is no second node."""
        return self._pool.second_opinion(lambda node: self._told_by(node, transfers))

    def find(self, tx_hash: str) -> FoundTransaction | None:
        """Look a transaction up by its hash; None where no node knows it. Raises ChainError."""
        finder = Finder(
            self._spec,
            self._dialect,
            self._tokens,
            write=self._transfer,
            ask=self._ask_beside,
            final_through=self._final_through,
        )
        return self._pool.first_known(lambda node: finder.find(node, tx_hash))

    def blocks(self, heights: Sequence[int]) -> list[BlockRef]:
        """Return these blocks. Raises ChainUnavailableError if a node lacks one."""
        return self._pool.run(lambda node: headers(node, heights))

    def read(self, first: int, last: int, *, head: Head, hint: Hint | None, ours: OursAsker) -> Reading:
        """Read a window on one node: by block near the tip, as a range far behind it."""
        most = self._dialect.most_blocks
        if most is not None and last - first >= most:
            raise RangeTooLargeError(f"{self._spec.name} gives {most} blocks at once")
        question = LogsQuestion(tuple(self._tokens), hint, dialect=self._dialect)
        read = self._read_blocks if head.block.height - last < NEAR_TIP else self._read_range

        def ask(node: Node) -> Reading:
            return read(node, first, last, head=head, question=question, ours=ours)

        return self._pool.run(ask, is_divisible=first < last)

    def call(self, method: str, params: list[Any]) -> Any:
        """Call any other method on any node."""
        return self._pool.call(method, params)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _ask_beside(self, node: Node, calls: Sequence[Call]) -> tuple[list[Any], Head]:
        """Send calls in one batch with those for the newest block and, if finality needs it, the tagged block's height."""
        tag = self._spec.finality_tag
        if tag is None or self._clock() < self._tagless.get(node, 0.0):
            return self._ask_untagged(node, calls)
        try:
            return self._ask_tagged(node, tag, calls)
        except RefusedError:
            if not self._dialect.tag_suffices:
                # Depth alone is not final there; another node may support the tag.
                raise
            found = self._ask_untagged(node, calls)
            self._tagless[node] = self._clock() + _TAG_RETRY_SECONDS
            return found

    def _ask_untagged(self, node: Node, calls: Sequence[Call]) -> tuple[list[Any], Head]:
        *answers, latest = ask_in_parts(node, [*calls, by_number("latest")])
        return answers, _head(decode.block_ref(latest))

    def _final_through(self, node: Node, head: Head, is_large: bool) -> int:
        if is_large:
            return self._ask_finalized(node)
        return self.final_height(head, read_height=head.block.height)

    def _ask_finalized(self, node: Node) -> int:
        if not self._spec.is_local:
            try:
                _, head = self._ask_tagged(node, FINALITY_TAG)
            except RefusedError:
                pass
            else:
                if head.finalized is not None:
                    return head.finalized
        latest = decode.block_ref(node.call(*by_number("latest")))
        return latest.height - self._surely_final_depth() + 1

    def _ask_tagged(self, node: Node, tag: str, calls: Sequence[Call] = ()) -> tuple[list[Any], Head]:
        """Return the answers, and the newest block with the height of the tagged one."""
        ends = [by_number("latest"), by_number(tag)]
        *answers, newest, final = ask_in_parts(node, [*calls, *ends])
        latest, tagged = decode.block_ref(newest), decode.block_ref(final)
        # Both answers may come from backends at different heights, or from one that treats any tag as the newest block.
        highest = latest.height - self._dialect.least_tag_lag
        return answers, _head(latest, finalized=min(highest, tagged.height))

    def _surely_final_depth(self) -> int:
        if self._spec.is_local or self._dialect.tag_suffices:
            return self._spec.confirmations
        return ceil(_SURELY_FINAL_SECONDS / self._spec.block_seconds)

    def _told_by(self, node: Node, transfers: Sequence[TokenTransfer]) -> list[bool]:
        hashes = [self._node_hash(transfer) for transfer in transfers]
        asked = list(dict.fromkeys(hashes))
        answers = ask_all(node, [receipt_of(tx_hash) for tx_hash in asked])
        told = {
            tx_hash: {
                as_recorded(one, self._tokens)
                for one in decode.told_transfers(receipt, tx_hash=tx_hash, tokens=self._tokens)
            }
            for tx_hash, receipt in zip(asked, answers, strict=True)
        }
        return [self._as_told(transfer) in told[tx_hash] for transfer, tx_hash in zip(transfers, hashes, strict=True)]

    def _node_hash(self, transfer: TokenTransfer) -> str:
        return "0x" + transfer.tx_hash.removeprefix(self._dialect.tx_prefix)

    def _as_told(self, transfer: TokenTransfer) -> ToldTransfer:
        return ToldTransfer(
            position=transfer.position,
            token=self._dialect.contract(transfer.token_address),
            units=transfer.units,
            recipient=transfer.recipient_key,
            block_hash=transfer.block_hash,
        )

    def _read_blocks(
        self, node: Node, first: int, last: int, *, head: Head, question: LogsQuestion, ours: OursAsker
    ) -> Reading:
        blocks = self._linked_headers(node, first, last, head)
        asked = blocks if question.can_match else []
        told = logs_by_block(node, asked, question)
        wanted = ours(decode.sides_of(chain.from_iterable(told)))
        logs = [log for by_filter in told for log in self._matching(by_filter, wanted)]
        return Reading(
            first=first,
            last=last,
            parent_hash=blocks[0].parent_hash,
            blocks=blocks,
            transfers=self._transfers(node, logs, blocks),
        )

    def _linked_headers(self, node: Node, first: int, last: int, head: Head) -> list[BlockRef]:
        known = [head.block] if last == head.block.height else []
        blocks = headers(node, range(first, last + 1 - len(known))) + known
        for parent, child in pairwise(blocks):
            if child.parent_hash != parent.hash:
                raise ReorgDuringReadError("the blocks of a window do not follow each other")
        return blocks

    def _read_range(
        self, node: Node, first: int, last: int, *, head: Head, question: LogsQuestion, ours: OursAsker
    ) -> Reading:
        del head
        # The last header in the same request: a lagging node lacks it, and would answer "no logs".
        calls = [by_number(first), by_number(last)]
        calls += question.by_range(first, last)
        answers = ask_in_parts(node, calls)
        ends, told = answers[:2], [decode.sided_logs(logs) for logs in answers[2:]]
        first_block, last_block = (
            decode.block_ref(end, height=height) for end, height in zip(ends, (first, last), strict=True)
        )
        found = self._matching(told, ours(decode.sides_of(told)))
        if any(not first <= log.height <= last for log in found):
            raise MalformedAnswerError("a log lies outside of the range asked for")
        heights = sorted({log.height for log in found} - {last})
        blocks = [*headers(node, heights), last_block]
        return Reading(
            first=first,
            last=last,
            parent_hash=first_block.parent_hash,
            blocks=blocks,
            transfers=self._transfers(node, found, blocks),
        )

    def _matching(self, told: Sequence[Sequence[SidedLog]], wanted: Collection[bytes]) -> list[TransferLog]:
        """Return the logs with a wanted address on a side.

        Two answers may hold the same log, but one answer may not hold it twice.
        """
        found: list[TransferLog] = []
        for answer in told:
            known = frozenset(found)
            read = decode.transfer_logs(
                [log for log in answer if log[1] in wanted or log[0] in wanted],
                tokens=self._tokens,
                paddings=self._dialect.paddings,
            )
            found += [log for log in read if log not in known]
        return [cut for log in found if (cut := as_recorded(log, self._tokens)).units]

    def _transfers(self, node: Node, logs: Sequence[TransferLog], blocks: Sequence[BlockRef]) -> list[TokenTransfer]:
        """Return transfers from logs, with their block's time and their position in the transaction's receipt."""
        by_height = {block.height: block for block in blocks}
        told = receipts(node, {log.tx_hash: log.block_hash for log in logs})
        positions = {tx_hash: decode.receipt_positions(receipt, tx_hash=tx_hash) for tx_hash, receipt in told.items()}
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

    def _transfer(self, log: TransferLog, block: BlockRef, position: int) -> TokenTransfer:
        token = self._tokens[log.token]
        return TokenTransfer(
            chain=self._spec.name,
            tx_hash=self._dialect.tx_prefix + log.tx_hash.removeprefix("0x"),
            position=position,
            token=token.symbol,
            token_address=token.address,
            units=log.units,
            sender=self._dialect.write_address(log.sender),
            recipient_key=log.recipient,
            recipient=self._dialect.write_address(log.recipient),
            block_height=block.height,
            block_hash=block.hash,
            block_time=block.time,
            # Minted money has no sender.
            sender_key=log.sender if any(log.sender) else b"",
        )


def _head(header: decode.Header, *, finalized: int | None = None) -> Head:
    return Head(block=header, agreed=True, finalized=finalized, base_fee=header.base_fee)
