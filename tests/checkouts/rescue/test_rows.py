"""The rows in which a transaction's movements are recorded."""

from typing import Any

from django.utils import timezone

from checkouts.rescue.facts import Books, matched_rows
from wallets.chains.base import PARTS_FROM, FoundMovement, FoundTransaction, TokenTransfer
from wallets.models import Transfer


def _part(**values: Any) -> TokenTransfer:
    told: dict[str, Any] = {
        "chain": "solana",
        "tx_hash": "one",
        "position": 0,
        "token": "USDC",
        "token_address": "usdc",
        "units": 3,
        "sender": "payer",
        "recipient_key": b"shop",
        "recipient": "shop",
        "block_height": 1,
        "block_hash": "slot:1",
        "block_time": timezone.now(),
    }
    return TokenTransfer(**(told | values))


def _rows_of(parts: list[TokenTransfer], *rows: Transfer) -> list[Transfer | None]:
    """The rows that a transaction's movements are found in."""
    found = FoundTransaction(
        chain="solana",
        tx_hash="one",
        succeeded=True,
        is_final=True,
        block_height=1,
        block_time=timezone.now(),
        movements=[
            FoundMovement(
                token=one.token,
                token_address=one.token_address,
                units=one.units,
                sender=one.sender,
                recipient=one.recipient,
                recipient_key=one.recipient_key,
                position=one.position,
            )
            for one in parts
        ],
        transfers=parts,
    )
    books = Books(rows, frozenset(), frozenset())
    return [row for _, _, row in matched_rows(found, books)]


def _row(part: TokenTransfer, **values: Any) -> Transfer:
    names = ("tx_hash", "position", "recipient", "token", "units")
    return Transfer(**({name: getattr(part, name) for name in names} | values))


def test_equal_amounts_of_one_transaction_are_each_found_in_their_own_row() -> None:
    parts = [_part(position=1), _part(position=2), _part(position=3)]
    first, last = _row(parts[0]), _row(parts[2])
    assert _rows_of(parts, last, first) == [first, None, last]
    # On TON each has its own hash.
    named = [_part(tx_hash="two"), _part(tx_hash="three")]
    rows = [_row(one) for one in named]
    assert _rows_of(named, *reversed(rows)) == rows


def test_the_parts_of_a_sum_that_an_earlier_release_recorded_are_found_in_it() -> None:
    parts = [_part(position=PARTS_FROM), _part(position=PARTS_FROM + 2, units=4)]
    summed = _row(parts[0], position=2, units=7)
    assert _rows_of(parts, summed) == [summed, summed]
    assert _rows_of([_part(position=2, units=7)], *(rows := [_row(parts[0])])) == rows
