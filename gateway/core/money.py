"""Exact money: integers on chain, Decimals in the product, strings in JSON, never floats."""

import re
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation

# Wide enough for 2**256 base units. Raises instead of rounding silently, as the default context does.
EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
# For intentional rounding.
_WIDE = Context(prec=100, traps=[InvalidOperation])

# Every token the product accepts has six decimals, others that are only recorded may have more; 78 digits hold any uint256.
TOKEN_DIGITS = 78
TOKEN_DECIMALS = 6
USD_DIGITS = 20

CENT = Decimal("0.01")
_USD = re.compile(r"[0-9]+(?:\.[0-9]{1,2})?", re.ASCII)
_MOST_DIGITS = 15

ENDLESS = Decimal(10) ** _MOST_DIGITS
"""What a USD amount with more digits counts as: more than any limit, and cheap to compare."""


def from_units(units: int | Decimal, decimals: int = TOKEN_DECIMALS) -> Decimal:
    """Turn on-chain base units into a token amount, exactly."""
    return EXACT.scaleb(Decimal(units), -decimals)


def to_units(amount: Decimal, decimals: int = TOKEN_DECIMALS) -> int:
    """Turn a token amount into base units. Raises Inexact if it has more decimals than the token."""
    return int(EXACT.quantize(EXACT.scaleb(amount, decimals), Decimal(1)))


def parse_usd(text: str) -> Decimal | None:
    """Read a USD amount written in plain ASCII digits with at most two decimals; None for anything else.

    One with more digits than any amount here has is `ENDLESS`.
    """
    if not _USD.fullmatch(text):
        return None
    whole = text.partition(".")[0].lstrip("0")
    return ENDLESS if len(whole) > _MOST_DIGITS else Decimal(text).quantize(CENT)


def format_usd(amount: Decimal) -> str:
    """Write a USD amount with exactly two decimals."""
    return f"{EXACT.quantize(amount, CENT):f}"


def format_token(amount: Decimal, decimals: int = TOKEN_DECIMALS) -> str:
    """Write a token amount with exactly six decimals, or as many as the token has."""
    return f"{EXACT.quantize(amount, Decimal(1).scaleb(-decimals)):f}"


def format_units(units: int | Decimal, decimals: int = TOKEN_DECIMALS) -> str:
    """Write base units of a token as its amount, with exactly its decimals. Raises Inexact for part of a unit."""
    return format_token(from_units(units, decimals), decimals)


def readable(amount: Decimal, decimals: int = TOKEN_DECIMALS) -> str:
    """Format an amount for people: thousands separators, at least two decimals, no further zeros (`1,250.0045`).

    Raises Inexact for more decimals than `decimals`.
    """
    whole, _, fraction = format_token(amount, decimals).partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits):,}.{fraction.rstrip('0').ljust(2, '0')}"


def readable_units(units: int | Decimal, decimals: int = TOKEN_DECIMALS) -> str:
    """Format base units of a token as `readable` formats its amount."""
    return readable(from_units(units, decimals), decimals)


def round_to_cent(amount: Decimal) -> Decimal:
    """Round a sum to a cent, half a cent away from zero."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP, context=_WIDE)


def round_up_to_cent(amount: Decimal) -> Decimal:
    """Round up to a cent, so that paying the rounded amount is always enough."""
    return amount.quantize(CENT, rounding=ROUND_CEILING)
