"""Converts our books and the nodes' answers about a transaction into facts for the rescue rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from checkouts.models import Checkout
from checkouts.rescue.rules import Movement, Record, Transaction, Whose
from wallets.chains.base import PARTS_FROM, FoundMovement, FoundTransaction, TokenTransfer
from wallets.chains.family import ChainFamily
from wallets.models import Transfer
from wallets.networks import chain_spec, is_accepted
from wallets.states import TransferState


@dataclass(frozen=True, slots=True)
class Books:
    """The merchant's recorded transfers of a transaction, and the ids of those credited to, or meant for, one checkout."""

    transfers: Sequence[Transfer]
    credited: frozenset[int]
    meant: frozenset[int]

    @property
    def is_about_us(self) -> bool:
        """Return whether these records suffice to answer this checkout's buyer."""
        return bool(self.credited or self.meant)

    def record(self, transfer: Transfer) -> Record:
        """Return the record of one transfer."""
        return Record(
            is_credited=transfer.pk in self.credited,
            is_meant=transfer.pk in self.meant,
            is_decided=transfer.decided_at is not None,
            is_final=transfer.state == TransferState.CONFIRMED,
        )


def from_books(checkout: Checkout, books: Books) -> list[Transaction]:
    """Return the recorded transactions, without asking any chain."""
    rows = sorted(books.transfers, key=attrgetter("chain", "tx_hash", "position"))
    return [_recorded(checkout, list(group), books) for _, group in groupby(rows, key=attrgetter("chain", "tx_hash"))]


def _recorded(checkout: Checkout, rows: Sequence[Transfer], books: Books) -> Transaction:
    first = rows[0]
    family = chain_spec(first.chain).family
    offers = _Offers(checkout)
    return Transaction(
        chain=first.chain,
        tx_hash=first.tx_hash,
        succeeded=True,
        block_time=first.block_time,
        movements=[
            offers.movement(
                first.chain,
                token=row.token,
                units=int(row.units),
                recipient=row.recipient,
                key=family.address_key(row.recipient),
                tx_hash=row.tx_hash,
                record=books.record(row),
            )
            for row in rows
        ],
    )


def from_chain(checkout: Checkout, found: FoundTransaction, books: Books) -> Transaction:
    """Return a node's answer, joined with our records."""
    offers = _Offers(checkout)

    def judged(movement: FoundMovement, tx_hash: str, row: Transfer | None) -> Movement:
        return offers.movement(
            found.chain,
            token=movement.token or "",
            units=movement.units,
            recipient=movement.recipient,
            key=movement.recipient_key,
            token_address=movement.token_address,
            is_coin=not movement.token_address,
            tx_hash=tx_hash,
            record=books.record(row) if row is not None else None,
        )

    return Transaction(
        chain=found.chain,
        tx_hash=found.tx_hash,
        succeeded=found.succeeded,
        block_time=found.block_time,
        movements=[judged(*matched) for matched in matched_rows(found, books)],
        to_oneself=[judged(one, found.tx_hash, None) for one in found.to_oneself],
    )


def matched_rows(found: FoundTransaction, books: Books) -> Iterator[tuple[FoundMovement, str, Transfer | None]]:
    """Yield each movement with the hash under which a watcher records it, and its row.

    A TON transaction causes transfers with their own hashes, in the order of the movements; so the money identifies each.
    """
    parts = list(found.transfers)
    for movement in found.movements:
        alike = (part for part in parts if _money(part) == _money(movement))
        tx_hash = found.tx_hash
        if part := next(alike, None):
            parts.remove(part)
            tx_hash = part.tx_hash
        yield movement, tx_hash, _row(movement, tx_hash, books)


def _money(moved: FoundMovement | TokenTransfer) -> tuple[str, str | None, int, int]:
    return moved.recipient, moved.token, moved.units, moved.position


def _row(movement: FoundMovement, tx_hash: str, books: Books) -> Transfer | None:
    """Return the movement's row, or that of the sum that an earlier release recorded it in."""
    rows = {
        row.position: row
        for row in books.transfers
        if (row.tx_hash, row.recipient, row.token) == (tx_hash, movement.recipient, movement.token)
    }
    is_part = movement.position >= PARTS_FROM
    sums = (row for at, row in rows.items() if (at >= PARTS_FROM) != is_part)
    return rows.get(movement.position) or next(sums, None)


class _Offers:
    """A checkout's offers, by address."""

    def __init__(self, checkout: Checkout) -> None:
        self._offers = checkout.offers
        self._places = {chain: _key(chain, offer) for chain, offer in checkout.offers.items()}
        self._owned = _owned(checkout.offers)

    def movement(
        self,
        chain: str,
        *,
        token: str,
        units: int,
        recipient: str,
        key: bytes,
        tx_hash: str,
        record: Record | None,
        is_coin: bool = False,
        token_address: str = "",
    ) -> Movement:
        """Return a movement as this checkout sees it."""
        offer = self._offers.get(chain)
        return Movement(
            token=token,
            units=units,
            recipient=recipient,
            whose=self._owned.get((chain_spec(chain).family, key), Whose.OTHER),
            is_coin=is_coin,
            token_address="" if token else token_address,
            is_accepted=bool(token) and is_accepted(chain, token),
            takes_chain=offer is not None,
            takes_token=offer is not None and token in offer["tokens"],
            is_in_place=self._places.get(chain) == key,
            tx_hash=tx_hash,
            record=record,
        )


def _owned(offers: Mapping[str, Mapping[str, Any]]) -> dict[tuple[ChainFamily, bytes], Whose]:
    """Return the checkout's addresses. An EVM address is the same on each EVM chain, offered there or not."""
    found: dict[tuple[ChainFamily, bytes], Whose] = {}
    for chain, offer in offers.items():
        place = chain_spec(chain).family, _key(chain, offer)
        if offer["address"] is not None:
            found[place] = Whose.CHECKOUT
        else:
            found.setdefault(place, Whose.MERCHANT)
    return found


def _key(chain: str, offer: Mapping[str, Any]) -> bytes:
    address = offer["address"] or offer["wallet"]
    return chain_spec(chain).family.address_key(address)
