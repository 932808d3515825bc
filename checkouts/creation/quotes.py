"""Converts the price of a new checkout to USD, once. The quote that it makes is stored with the checkout as evidence."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.models import Merchant
from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.inputs import NewCheckout, NewQuote
from checkouts.models import Quote
from gateway.core.api.fields import refuse
from gateway.core.json import dumps
from gateway.core.money import format_usd
from rates.selectors import worth_of


def new_quote(merchant_id: int, wanted: NewCheckout, *, now: datetime) -> NewQuote:
    """Convert a price that is not in USD at the rate of now, with the merchant's margin.

    Raises RateUnavailableError where there is no agreed rate, and InvalidRequestError (amount_out_of_range) for a price that is worth
    less or more than a checkout may ask for.
    """
    margin = Merchant.objects.values_list("rate_margin", flat=True).filter(pk=merchant_id).first() or Decimal(0)
    worth = worth_of(wanted.amount, wanted.currency, margin=margin, now=now)
    if not MIN_AMOUNT <= worth.usd <= MAX_AMOUNT:
        limits = f"{format_usd(MIN_AMOUNT)} to {format_usd(MAX_AMOUNT)} USD"
        raise refuse("amount", f"amount must be worth {limits}; it is worth {worth.usd}.", "amount_out_of_range")
    return NewQuote(
        usd_amount=worth.usd,
        rate=worth.agreed.rate,
        margin=margin,
        evidence=worth.evidence(),
        taken_at=worth.agreed.taken_at,
    )


def quote_parameters(wanted: NewCheckout, quote: NewQuote) -> dict[str, Any]:
    """Return what the creation statement writes of a quote: `amount` is USD from here on, and `price` what the merchant said."""
    return {
        "amount": quote.usd_amount,
        "price": wanted.amount,
        "rate": quote.rate,
        "margin": quote.margin,
        "evidence": dumps(quote.evidence).decode(),
        "taken_at": quote.taken_at,
    }


def copy_quote(quote: Quote, checkout_id: int) -> None:
    """Store a checkout's quote for its successor, which keeps its amount in USD whatever the rate is now."""
    Quote.objects.create(
        checkout_id=checkout_id,
        currency=quote.currency,
        price=quote.price,
        usd_amount=quote.usd_amount,
        rate=quote.rate,
        margin=quote.margin,
        evidence=quote.evidence,
        taken_at=quote.taken_at,
    )
