"""Matches receipts with the transfers that caused them, and reads receipts."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from wallets.chains.base import MalformedAnswerError, TokenTransfer
from wallets.chains.ton import decode
from wallets.chains.ton.address import address_key
from wallets.chains.ton.cells import CellError
from wallets.chains.ton.decode import Listed, Place, Receipt
from wallets.chains.ton.messages import InternalTransfer, read_internal_transfer

# A transaction sends at most this many messages (the network's limit of actions).
_MOST_MESSAGES: Final = 255
_HOUR: Final = 3_600


class Causes:
    """Finds the transfer that caused a receipt.

    A contract numbers its messages from its transaction's logical time on, and begins its next transaction above them.
    """

    def __init__(self, listed: Iterable[Listed]) -> None:
        self._by_wallet: dict[bytes, list[Listed]] = {}
        for row in sorted(listed, key=lambda row: row.lt):
            self._by_wallet.setdefault(row.wallet, []).append(row)

    def of(self, receipt: Receipt) -> Listed | None:
        """Return the transfer; None if it is not listed."""
        rows = self._by_wallet.get(receipt.source, [])
        before = bisect_left(rows, receipt.sent_lt, key=lambda row: row.lt)
        if not before or receipt.sent_lt - rows[before - 1].lt > _MOST_MESSAGES:
            return None
        return rows[before - 1]


def matched(
    listed: Sequence[Listed], receipts: Mapping[Place, Sequence[Receipt]]
) -> Iterator[tuple[Place, Listed, Receipt]]:
    """Pair each receipt with the transfer that caused it."""
    causes = Causes(listed)
    for place, some in receipts.items():
        for receipt in some:
            row = causes.of(receipt)
            if row is not None and place == (row.recipient, row.master):
                yield place, row, receipt


def read_message(receipt: Receipt) -> InternalTransfer:
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
