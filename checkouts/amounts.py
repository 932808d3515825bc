"""What a checkout asks for: its price, when it counts as paid, and the exact amount that identifies a payment.

Pure arithmetic on exact Decimals and integer base units. An exact amount is a price plus digits below one cent.
"""

import base64
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from gateway.core.ids import ALPHABET
from gateway.core.money import CENT, from_units, round_up_to_cent, to_units

# Below ten cents the tolerance would exceed a useful share of the price.
MIN_AMOUNT = Decimal("0.10")
MAX_AMOUNT = Decimal("1000000.00")
_TOLERANCE_RATE = Decimal("0.01")
_MIN_TOLERANCE = Decimal("0.05")
# Smaller transfers are recorded but never matched: they are usually spam.
DUST_UNITS = to_units(CENT)

CAPACITY: Final = 9_999
"""The number of exact amounts per price: suffixes of 1 .. 9999 base units of a token with six decimals."""

CENT_UNITS: Final = 10_000
"""Base units of a cent; an amount's remainder by it is its suffix."""

REFERENCE_BYTES: Final = 32
_BLOCK: Final = 100
_BLOCKS: Final = range(0, CAPACITY + 1, _BLOCK)
_ROUND: Final = _BLOCKS[1:]
_THOUSANDS: Final = range(10 * _BLOCK, CAPACITY + 1, 10 * _BLOCK)
_FOUR_DECIMALS: Final = tuple(suffix for suffix in _ROUND if suffix not in _THOUSANDS)
_VANISHING: Final = range(1, _BLOCK // 2)
_CARRYING: Final = range(CENT_UNITS - _BLOCK // 2, CAPACITY + 1)
# Wallets that show 2, 3 or 4 decimals cut or round the digits below these.
_SHOWN: Final = (10_000, 1_000, 100)
KEPT_FROM_LINKS: Final = tuple(suffix for suffix in range(1, CAPACITY + 1) if sum(divmod(suffix, _BLOCK)) % 2)
"""Suffixes that checkouts from payment links never get: half of all, and half of each tier."""

KEPT_FOR_RESTORES: Final = tuple(
    suffix for suffix in range(1, CAPACITY + 1) if suffix % _BLOCK and sum(divmod(suffix, _BLOCK)) % 16 in (6, 7)
)
"""Suffixes for use after a restore: about an eighth of all, none of them round. Otherwise they are given out last.

After a restore it is unknown which other suffixes lost checkouts hold. About half of these are also kept from links.
"""

GIVEN_BEFORE_RESTORES: Final = tuple(sorted({*range(1, CAPACITY + 1)} - {*KEPT_FOR_RESTORES}))

_MEMO_BYTES: Final = 10
_CROCKFORD: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", ALPHABET)


def tolerance(amount: Decimal) -> Decimal:
    """Return how far from `amount` USD a payment may be: the larger of 1 % and 5 cents."""
    return max(amount * _TOLERANCE_RATE, _MIN_TOLERANCE)


def needed_units(amount: Decimal, accepted: Decimal | None = None) -> int:
    """Return the base units at which a checkout of `amount` USD counts as paid: `accepted` USD if a person accepted less."""
    needed = to_units(amount - tolerance(amount))
    return needed if accepted is None else min(needed, to_units(accepted))


def overpaid_above_units(amount: Decimal) -> int:
    """Return the base units above which a checkout of `amount` USD is overpaid."""
    return to_units(amount + tolerance(amount))


def price_of(units: int) -> Decimal:
    """Return the price of `units` due: USD, rounded up to a cent."""
    return round_up_to_cent(from_units(units))


def exact_units(price: Decimal, suffix: int) -> int:
    """Return the base units to send."""
    return to_units(price) + suffix


def shown_alike(suffix: int) -> int:
    """Return the range around `suffix`, in base units, that a wallet with few decimals shows as the same amount.

    Zero if no such wallet can show it, because it has more digits.
    """
    return next((step for step in _SHOWN if suffix and not suffix % step), 0)


def is_cut_of(units: int, amount: int) -> bool:
    """Return whether cutting an exact amount to 2, 3 or 4 decimals gives `units`."""
    return any(units == amount - amount % step for step in _SHOWN)


def is_rounded_of(units: int, amount: int) -> bool:
    """Return whether rounding up to 3 or 4 decimals gives `units`. Rounding to 2 would give another checkout's round price."""
    if units % CENT_UNITS == 0:
        return False
    return any(units == -(-amount // step) * step for step in _SHOWN)


def best_free(taken: Iterable[int]) -> list[int]:
    """Return the free suffixes that are safest to hand out next; none if all are taken.

    First the 99 multiples of 100, which survive a wallet that shows four decimals; of them multiples of 1000 last, because
    others cut to three decimals look like them. Then 1 to 49: cut or rounded to four decimals they become the price itself,
    which is never mistaken for another checkout's exact amount (537 cut looks like 500). Then those that share their four
    decimals with the fewest others. At last 9950 to 9999: rounded to four decimals they become the price of a cent more, which
    may be another checkout's.
    """
    free = _free_flags(taken)
    for tier in (_FOUR_DECIMALS, _THOUSANDS, _VANISHING):
        if proof := [suffix for suffix in tier if free[suffix]]:
            return proof
    ends = {block: min(block + _BLOCK, _CARRYING.start) for block in _BLOCKS}
    room = {block: free.count(1, block, block + _BLOCK) for block, end in ends.items() if free.count(1, block, end)}
    if not room:
        return [suffix for suffix in _CARRYING if free[suffix]]
    crowd = {block: _size(block) - left for block, left in room.items()}
    fewest = min(crowd.values())
    return [
        suffix
        for block, held in crowd.items()
        if held == fewest
        for suffix in range(block, ends[block])
        if free[suffix]
    ]


def _free_flags(taken: Iterable[int]) -> bytearray:
    """Return one byte per suffix, 1 if it is free. Zero is not a suffix: it stands for the price itself."""
    flags = bytearray([1]) * (CAPACITY + 1)
    flags[0] = 0
    for suffix in taken:
        flags[suffix] = 0
    return flags


def _size(block: int) -> int:
    """Return how many suffixes share the four decimals of `block`, its first one."""
    return _BLOCK if block else _BLOCK - 1


def memo_of(reference: bytes) -> str:
    """Return a reference's short form for people: its first ten bytes as 16 characters of Crockford's base 32."""
    return base64.b32encode(reference[:_MEMO_BYTES]).translate(_CROCKFORD).decode()
