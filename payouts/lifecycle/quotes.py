"""Amounts in a currency: a refund's is converted at the quote of its checkout, a payout's at the rate of now, once.

What a payout's quote says is stored with it. It never changes, and no other rate is used.
"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.pricing import dues_of, units_worth
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.currencies import USD, format_price, format_rate, has_its_decimals, units_at
from gateway.core.money import TOKEN_DECIMALS, format_usd, from_units, to_units
from gateway.core.times import iso
from payouts.lifecycle.sources import Source, is_usd
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


def at_quote(amount: Decimal, checkout: Checkout, token: str = "") -> Decimal:
    """Return what part of a checkout's price is in tokens, rounded down to a millionth; the whole price is all of its quote.

    They are one for a dollar, or a `token` of another currency that the checkout has a due for: then the whole price is that. Raises InvalidRequestError: amount_out_of_range, and amount_invalid for too many decimals.
    """
    _refuse(amount, checkout.currency)
    whole = dues_of(checkout).get(token, to_units(checkout.amount))
    return from_units(units_at(amount, checkout.asked_amount, whole))


def checkout_with_due(source: Source, token: str, merchant: Merchant, mode: Mode) -> Checkout | None:
    """Return a source's checkout if it has a due for a token of another currency: only that says what the token is worth."""
    found = Checkout.objects.filter(merchant=merchant, mode=mode, public_id=source.checkout).first()
    return found if found and token in dues_of(found) else None


def refund_amount(
    amount: Decimal | None, currency: str, source: Source, merchant: Merchant, mode: Mode
) -> Callable[[str, str], Decimal | None]:
    """Return what an amount of a refund is in a token, by its chain and symbol; None for all that is left.

    Without a currency it is in the token. In USD it is one token for a dollar, or as much of a token of another currency as that is in
    the source's checkout; in the checkout's own currency it is converted at its quote. Raises what `quoted_checkout` and `at_quote` do.
    """
    if currency not in ("", USD):
        quoted = quoted_checkout(source, currency, merchant, mode)
        if amount is None:
            return lambda _chain, _token: None
        part = amount
        at_quote(part, quoted)
        return lambda _chain, token: at_quote(part, quoted, token)

    def in_token(chain: str, token: str) -> Decimal | None:
        if amount is None or not currency or is_usd(chain, token):
            return amount
        found = checkout_with_due(source, token, merchant, mode)
        if found is None:
            return amount
        _refuse_size(amount)
        units = int(amount.scaleb(TOKEN_DECIMALS))
        return from_units(units_worth(units, dues_of(found)[token], price_units=to_units(found.amount)))

    return in_token


def _refuse(amount: Decimal, currency: str) -> None:
    _refuse_size(amount)
    if not has_its_decimals(amount, currency):
        message = f"amount has more decimals than {currency}."
        raise InvalidRequestError(message, param="amount", code="amount_invalid")


def _refuse_size(amount: Decimal) -> None:
    if amount <= 0 or amount > MOST:
        message = f"amount must be more than zero, and at most {MOST}."
        raise InvalidRequestError(message, param="amount", code="amount_out_of_range")
