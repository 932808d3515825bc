"""Matches receipts with the transfers that caused them, and looks up everything that a TON transaction moved."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wallets.chains.base import (
    ChainUnavailableError,
    FoundMovement,
    FoundTransaction,
    MalformedAnswerError,
    TokenTransfer,
)
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Node
from wallets.chains.ton import decode
from wallets.chains.ton.address import address_key
from wallets.chains.ton.cells import CellError, InternalTransfer, read_internal_transfer
from wallets.chains.ton.decode import JettonReceipt, Listed, Place
from wallets.chains.ton.questions import CoinTransfer, Trace, TraceStep, ask_owners, ask_trace

# A transaction sends at most this many messages (the network's limit of actions).
_MOST_MESSAGES: Final = 255
_HOUR: Final = 3_600

MOST_TRACES: Final = 100
"""How many transfers to strangers a reading looks up; the others wait for the next reading."""

MOST_RECEIPTS: Final = 500
"""An exchange's batch payout has half as many; more would take too many requests."""


class Causes:
    """Finds the transfer that caused a receipt.

    A contract numbers its messages from its transaction's logical time on, and begins its next transaction above them.
    """

    def __init__(self, listed: Iterable[Listed]) -> None:
        self._by_wallet: dict[bytes, list[Listed]] = {}
        for row in sorted(listed, key=lambda row: row.lt):
            self._by_wallet.setdefault(row.wallet, []).append(row)

    def of(self, receipt: JettonReceipt) -> Listed | None:
        """Return the transfer; None if it is not listed."""
        rows = self._by_wallet.get(receipt.source, [])
        before = bisect_left(rows, receipt.sent_lt, key=lambda row: row.lt)
        if not before or receipt.sent_lt - rows[before - 1].lt > _MOST_MESSAGES:
            return None
        return rows[before - 1]


def matched(
    listed: Sequence[Listed], receipts: Mapping[Place, Sequence[JettonReceipt]]
) -> Iterator[tuple[Place, Listed, JettonReceipt]]:
    """Pair each receipt with the transfer that caused it."""
    causes = Causes(listed)
    for place, some in receipts.items():
        for receipt in some:
            row = causes.of(receipt)
            if row is not None and place == (row.recipient, row.master):
                yield place, row, receipt


def read_message(receipt: JettonReceipt) -> InternalTransfer:
    """Read the internal transfer that a successful receipt accepted. Raises MalformedAnswerError."""
    try:
        return read_internal_transfer(decode.body_bytes(receipt.body or ""))
    except CellError as error:
        # The jetton wallet accepted it, so the node's copy must be damaged.
        raise MalformedAnswerError(f"an unreadable message: {error}") from error


def identity(transfer: TokenTransfer) -> tuple[Place, str]:
    """Return a transfer's identity: its owner and its receipt's hash."""
    master = address_key(transfer.token_address)
    return (transfer.recipient_key, master), transfer.tx_hash


def by_hour(transfers: Sequence[TokenTransfer]) -> list[list[TokenTransfer]]:
    """Return transfers in order of time, in groups that span an hour at most."""
    groups: list[list[TokenTransfer]] = []
    for transfer in sorted(transfers, key=lambda one: one.block_time):
        first = groups[-1][0].block_time if groups else None
        if first and (transfer.block_time - first).total_seconds() <= _HOUR:
            groups[-1].append(transfer)
        else:
            groups.append([transfer])
    return groups


def first_of(rows: Sequence[Listed], *, most: int = MOST_TRACES) -> tuple[list[Listed], int | None]:
    """Return the oldest rows, complete for each second, and the time from which some are left out."""
    ordered = sorted(rows, key=lambda row: row.time)
    left = [row.time for row in ordered[most:] if row.time > ordered[0].time]
    if not left:
        return ordered, None
    return [row for row in ordered if row.time < left[0]], left[0]


def taken(
    listed: Iterable[Listed], receipts: Iterable[JettonReceipt | None]
) -> Iterator[tuple[Place, Listed, JettonReceipt]]:
    """Pair receipts of any jetton wallets with the transfers that caused them.

    The index names the owner of the recipient's wallet, which the sender's wallet verified.
    """
    causes = Causes(listed)
    for receipt in receipts:
        row = causes.of(receipt) if receipt is not None else None
        if receipt is not None and row is not None:
            yield (row.recipient, row.master), row, receipt


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on TON's nodes.

    `masters` are the listed jettons by their key. `read` returns the transfer that watchers record of a receipt, or None.
    `ask_height` asks a node for its newest masterchain block.
    """

    spec: ChainSpec
    masters: Mapping[bytes, TokenSpec]
    read: Callable[[Place, JettonReceipt], TokenTransfer | None]
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
            is_whole=trace.is_complete,
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

    def _jettons(self, place: Place, receipt: JettonReceipt) -> FoundMovement | None:
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


def _receipts(trace: Trace) -> list[JettonReceipt]:
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
