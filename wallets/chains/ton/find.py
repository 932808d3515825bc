"""Looks up a TON transaction by its hash or its message's: everything it moved, for any recipient.

Wallets show the hash of what they signed, explorers that of the first transaction; what a watcher records is the last one,
by which a jetton wallet received. All of them are of one trace, so the whole trace is read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from wallets.chains.base import (
    ChainUnavailableError,
    FoundMovement,
    FoundTransaction,
    MalformedAnswerError,
    TokenTransfer,
)
from wallets.chains.rpc.client import Node
from wallets.chains.specs import ChainSpec, TokenSpec
from wallets.chains.ton import decode
from wallets.chains.ton.causes import read_message
from wallets.chains.ton.decode import Place, Receipt
from wallets.chains.ton.questions import ask_owners, ask_trace
from wallets.chains.ton.traces import CoinTransfer, Trace, TraceStep

MOST_RECEIPTS: Final = 500
"""An exchange's batch payout has half as many; more would take too many requests."""


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on TON's nodes.

    `masters` are the listed jettons by their key. `read` returns the transfer that watchers record of a receipt, or None.
    `ask_height` asks a node for its newest masterchain block.
    """

    spec: ChainSpec
    masters: Mapping[bytes, TokenSpec]
    read: Callable[[Place, Receipt], TokenTransfer | None]
    write_address: Callable[[bytes], str]
    ask_height: Callable[[Node], int]

    def find(self, node: Node, tx_hash: str) -> FoundTransaction | None:
        """Return a message's trace as a transaction; None if the node does not know it. Raises ChainError."""
        trace = ask_trace(node, tx_hash)
        if trace is None:
            return None
        return self._found(node, tx_hash, trace, ask_owners(node, _receiving(trace)))

    def _found(self, node: Node, name: str, trace: Trace, places: Mapping[bytes, Place]) -> FoundTransaction:
        told = [(step, one) for step in trace.steps for one in self._movements(step, places)]
        moves = [(step, one) for step, one in told if one.sender != one.recipient]
        deciding = [step for step, _ in told] or trace.steps
        last = max(deciding, key=lambda step: step.time)
        heights = [step.height for step in deciding if step.height is not None]
        if len(heights) < len(deciding) or not (told or trace.is_complete):
            return self._waiting(name)
        head = self.ask_height(node)
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=name,
            succeeded=bool(told) or _has_succeeded(trace),
            is_final=max(heights) <= head - self.spec.confirmations,
            block_height=max(heights),
            block_time=decode.moment(last.time),
            movements=tuple(one for _, one in moves),
            transfers=tuple(self._transfers(trace, places)),
            head=head,
            to_oneself=tuple(one for _, one in told if one.sender == one.recipient),
        )

    def _waiting(self, name: str) -> FoundTransaction:
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=name,
            succeeded=True,
            is_final=False,
            block_height=None,
            block_time=None,
            movements=(),
        )

    def _transfers(self, trace: Trace, places: Mapping[bytes, Place]) -> Iterator[TokenTransfer]:
        for receipt in _receipts(trace):
            place = places.get(receipt.account)
            # The index does not list mints as transfers, so watchers do not see them either.
            if place is None or receipt.source == place[1]:
                continue
            if place[1] in self.masters and (transfer := self.read(place, receipt)):
                yield transfer

    def _movements(self, step: TraceStep, places: Mapping[bytes, Place]) -> Iterator[FoundMovement]:
        if step.coin is not None:
            yield self._coin(step.coin)
        receipt = step.receipt
        if receipt is None or not receipt.succeeded:
            return
        place = places.get(receipt.account)
        if place is not None and (moved := self._jettons(place, receipt)):
            yield moved

    def _coin(self, coin: CoinTransfer) -> FoundMovement:
        return FoundMovement(
            token=None,
            token_address="",
            units=coin.units,
            sender=self.write_address(coin.source),
            recipient=self.write_address(coin.account),
            recipient_key=coin.account,
            position=0,
        )

    def _jettons(self, place: Place, receipt: Receipt) -> FoundMovement | None:
        owner, master = place
        listed = self.masters.get(master)
        try:
            message = read_message(receipt)
        except MalformedAnswerError:
            if listed is not None:
                raise
            # A stranger's jetton wallet may accept anything.
            return None
        if not message.units:
            return None
        return FoundMovement(
            token=listed.symbol if listed is not None else None,
            token_address=self.write_address(master),
            units=message.units,
            sender=self.write_address(message.sender or receipt.source),
            recipient=self.write_address(owner),
            recipient_key=owner,
            position=0,
        )


def _receipts(trace: Trace) -> list[Receipt]:
    told = [step.receipt for step in trace.steps]
    return [one for one in told if one is not None and one.succeeded]


def _has_succeeded(trace: Trace) -> bool:
    """Whether something was received, or nothing failed: side messages of a wallet may fail without harm."""
    has_failed = any(step.has_failed for step in trace.steps)
    return bool(_receipts(trace)) or not has_failed


def _receiving(trace: Trace) -> set[bytes]:
    """Return the accounts that may have received jettons."""
    accounts = {receipt.account for receipt in _receipts(trace)}
    if len(accounts) > MOST_RECEIPTS:
        raise ChainUnavailableError("a transaction pays more than can be looked up")
    return accounts
