"""Reads labels of transfers: Solana Pay references and TON comments. They may hold anything."""

from collections.abc import Iterable
from typing import Final

import base58

from checkouts.exact_amounts import REFERENCE_BYTES

# Base58 digits that 32 bytes may take.
_REFERENCE_LENGTHS: Final = range(32, 45)
_MEMO_LENGTH: Final = 16
# Crockford's base 32 reads these as the digits they resemble (https://www.crockford.com/base32.html).
_READ_AS: Final = str.maketrans("oil", "011", "-")


def references_in(labels: Iterable[str]) -> set[bytes]:
    """Return the labels that may be references (`AmountReservation.reference`): base58 of 32 bytes."""
    read = (_reference(label.strip()) for label in labels)
    return {reference for reference in read if reference is not None}


def _reference(label: str) -> bytes | None:
    if len(label) not in _REFERENCE_LENGTHS or not label.isascii():
        return None
    try:
        key = base58.b58decode(label)
    except ValueError:
        return None
    return key if len(key) == REFERENCE_BYTES else None


def memos_in(labels: Iterable[str]) -> set[str]:
    """Return the labels that may be memos (`AmountReservation.memo`), normalised to our case and digits."""
    read = (label.strip().lower().translate(_READ_AS) for label in labels)
    return {memo for memo in read if len(memo) == _MEMO_LENGTH and memo.isalnum()}
