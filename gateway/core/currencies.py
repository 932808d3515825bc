"""Currencies of prices: their decimals, and their amounts read, written and converted at a rate. Pure.

A price has the decimals of its currency: two or none. Currencies with three decimals are left out, because amounts are stored to a
cent. Money on chains is counted in USD; `usd_at` and `units_at` are the only places where a price becomes that. Base units of a token of
another currency do in `usd_units_at`, of a machine's payment, and in `checkouts.pricing.value_units`, of a checkout's money.
"""

import re
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

from gateway.core.money import CENT, ENDLESS, EXACT, readable

USD: Final = "USD"

_TWO: Final = """
    AED AMD AUD AZN BAM BDT BOB BRL CAD CHF CNY COP CRC CZK DKK DOP EGP EUR GBP GEL GHS GTQ HKD HNL HUF IDR ILS INR JMD KES KZT LKR
    MAD MDL MKD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD SAR SEK SGD THB TRY TTD TWD TZS UAH UYU UZS ZAR
"""
_NONE: Final = "CLP ISK JPY KRW PYG UGX VND XAF XOF"
DECIMALS: Final = {USD: 2, **dict.fromkeys(_TWO.split(), 2), **dict.fromkeys(_NONE.split(), 0)}
"""The decimals of each known currency, by its ISO 4217 code (list one of ISO 4217, the minor unit)."""

RATE_DECIMALS: Final = 12
"""A rate is USD for one unit of a currency. A unit of the least is worth about 0.00004 USD, so it keeps seven digits."""
_SHOWN_RATE_DECIMALS: Final = 6
_MOST_DIGITS: Final = 15
_AMOUNT: Final = {0: re.compile(r"[0-9]+", re.ASCII), 2: re.compile(r"[0-9]+(?:\.[0-9]{1,2})?", re.ASCII)}
_LEAST: Final = {0: Decimal(1), 2: CENT}
# For intentional rounding, with room for any price times any rate.
_UP: Final = Context(prec=100, rounding=ROUND_CEILING, traps=[InvalidOperation])


def parse_price(text: str, currency: str) -> Decimal | None:
    """Read an amount of a known currency in plain ASCII digits with at most its decimals; None for anything else.

    One of more than 15 digits before the point is `ENDLESS`: no column holds it.
    """
    decimals = DECIMALS[currency]
    if not _AMOUNT[decimals].fullmatch(text):
        return None
    whole = text.partition(".")[0].lstrip("0")
    return ENDLESS if len(whole) > _MOST_DIGITS else Decimal(text).quantize(_LEAST[decimals])


def has_its_decimals(amount: Decimal, currency: str) -> bool:
    """Return whether an amount has no more decimals than its currency."""
    return amount == amount.quantize(_LEAST[DECIMALS[currency]], context=_UP)


def format_price(amount: Decimal, currency: str) -> str:
    """Write an amount with exactly its currency's decimals. Raises Inexact if it has more."""
    return f"{EXACT.quantize(amount, _LEAST[DECIMALS[currency]]):f}"


def readable_price(amount: Decimal, currency: str) -> str:
    """Format an amount for people: thousands separators, its currency's decimals (`1,200`, `1,250.00`)."""
    return f"{EXACT.quantize(amount, _LEAST[DECIMALS[currency]]):,f}"


def round_price(amount: Decimal, currency: str) -> Decimal:
    """Round a sum to its currency's decimals, half of the least unit away from zero."""
    return amount.quantize(_LEAST[DECIMALS[currency]], rounding=ROUND_HALF_UP, context=_UP)


def format_rate(rate: Decimal) -> str:
    """Write a rate with all its digits, six decimals at least (`1.088260`, `0.000038123`)."""
    whole, _, fraction = f"{rate:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(_SHOWN_RATE_DECIMALS, '0')}"


def readable_rate(rate: Decimal) -> str:
    """Format a rate for buyers: five significant digits, two decimals at least (`1.0883`, `0.0066667`, `0.50`)."""
    step = Decimal(1).scaleb(rate.adjusted() - 4)
    return readable(rate.quantize(min(step, CENT)).normalize(), RATE_DECIMALS)


def usd_at(price: Decimal, rate: Decimal, margin: Decimal) -> Decimal:
    """Return what a price is in USD at a rate with a margin (0.01 is one per cent), rounded up to a cent."""
    exact = EXACT.multiply(EXACT.multiply(price, rate), 1 + margin)
    return exact.quantize(CENT, context=_UP)


def price_worth(usd: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Return the least price in a currency that is worth so many USD at a rate."""
    return _UP.divide(usd, rate).quantize(_LEAST[DECIMALS[currency]], context=_UP)


def usd_units_at(units: int, rate: Decimal) -> int:
    """Return the millionths of a USD that base units of a token are worth, of a currency at a rate, rounded down.

    Add up the units of a token first: what is rounded down in parts loses a millionth in almost every part.
    """
    return int(EXACT.multiply(Decimal(units), rate))


def units_at(part: Decimal, price: Decimal, usd_units: int) -> int:
    """Return the base units of a part of a price that was quoted at `usd_units`, rounded down.

    The whole price is all of the units, and parts never add up to more than the whole.
    """
    return int(part * 100) * usd_units // int(price * 100)


def price_at(units: int, price: Decimal, usd_units: int, currency: str) -> Decimal:
    """Return what base units are in the currency of a price that was quoted at `usd_units`, rounded down to its decimals."""
    least = _LEAST[DECIMALS[currency]]
    return Decimal(units * int(price / least) // usd_units) * least
