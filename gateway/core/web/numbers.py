"""Amounts on buyers' pages and in their mails, so that no reader takes the mark between thousands for the decimal point.

The decimal sign is a point in every language, because wallets show and take it. `1,234` is 1.234 to a reader in Berlin or São Paulo, so
where the language writes decimals with a comma, thousands are apart by a space that does not break: `1 234.50`.
"""

from decimal import Decimal
from typing import Final

from django.utils.formats import get_format

from gateway.core import currencies, money

SPACE: Final = "\N{NO-BREAK SPACE}"


def readable(amount: Decimal, decimals: int = money.TOKEN_DECIMALS) -> str:
    """Format an amount as `gateway.core.money.readable`, in the active language. Raises Inexact for more decimals than `decimals`."""
    return _apart(money.readable(amount, decimals))


def readable_units(units: int | Decimal, decimals: int = money.TOKEN_DECIMALS) -> str:
    """Format base units of a token as `readable` formats its amount."""
    return _apart(money.readable_units(units, decimals))


def readable_price(amount: Decimal, currency: str) -> str:
    """Format a price with its currency's decimals, in the active language. Raises Inexact if it has more."""
    return _apart(currencies.readable_price(amount, currency))


def number_of(text: str) -> str:
    """Return what one of these wrote as an HTML number, without marks."""
    return text.replace(",", "").replace(SPACE, "")


def _apart(text: str) -> str:
    is_apart = get_format("DECIMAL_SEPARATOR") == "," or get_format("THOUSAND_SEPARATOR") == SPACE
    return text.replace(",", SPACE) if is_apart else text
