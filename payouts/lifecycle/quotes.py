"""Amounts in a currency: a refund's is converted at the quote of its checkout, a payout's at the rate of now, once.

What a payout's quote says is stored with it. It never changes, and no other rate is used.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.currencies import format_price, format_rate, has_its_decimals, units_at
from gateway.core.money import format_usd, from_units, to_units
from gateway.core.times import iso
from payouts.lifecycle.sources import Source
from rates.selectors import worth_of

MOST: Final = Decimal(10**15)
"""The largest amount, in tokens or a currency: more than there is of any token."""


def new_quote(amount: Decimal, currency: str, *, now: datetime) -> dict[str, Any]:
    """Convert an amount in a currency that prices may be in, other than USD, at the rate of now: no margin is added.

    Returns what is stored of it: `usd_amount` is paid, one token for a dollar, rounded up to a cent. Raises RateUnavailableError where
    there is no agreed rate, and InvalidRequestError: amount_out_of_range, and amount_invalid for too many decimals.
    """
    _refuse(amount, currency)
    worth = worth_of(amount, currency, margin=Decimal(0), now=now)
    return {
        "amount": format_price(amount, currency),
        "currency": currency,
        "usd_amount": format_usd(worth.usd),
        "rate": format_rate(worth.agreed.rate),
        "sources": worth.evidence(),
        "taken_at": iso(worth.agreed.taken_at),
    }


def quoted_checkout(source: Source, currency: str, merchant: Merchant, mode: Mode) -> Checkout:
    """Return a source's checkout whose price was in a currency other than USD.

    Raises NotFoundError for a checkout that this merchant does not have in this mode, and InvalidRequestError (currency_unsupported).
    """
    found = Checkout.objects.filter(merchant=merchant, mode=mode, public_id=source.checkout).first()
    if found is None and source.checkout:
        raise NotFoundError("There is no such checkout.", param="source")
    if found is None or found.price is None or found.currency != currency:
        message = f"This money was never quoted in {currency}. Leave currency out, or name the checkout's."
        raise InvalidRequestError(message, param="currency", code="currency_unsupported")
    return found


def at_quote(amount: Decimal, checkout: Checkout) -> Decimal:
    """Return what part of a checkout's price is in tokens, rounded down to a millionth; the whole price is all of its quote.

    Raises InvalidRequestError: amount_out_of_range, and amount_invalid for too many decimals.
    """
    _refuse(amount, checkout.currency)
    return from_units(units_at(amount, checkout.asked_amount, to_units(checkout.amount)))


def _refuse(amount: Decimal, currency: str) -> None:
    if amount <= 0 or amount > MOST:
        message = f"amount must be more than zero, and at most {MOST}."
        raise InvalidRequestError(message, param="amount", code="amount_out_of_range")
    if not has_its_decimals(amount, currency):
        message = f"amount has more decimals than {currency}."
        raise InvalidRequestError(message, param="amount", code="amount_invalid")
