"""Fixes what a new checkout's price is in tokens of another currency than USD, at the rate of its creation, with the evidence."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from checkouts.creation.forms import longest_expiry
from checkouts.inputs import NewCheckout, NewQuote
from gateway.core.currencies import format_rate, price_worth
from gateway.core.money import to_units
from gateway.core.times import iso
from rates.selectors import agreed_for
from wallets.selectors import Offerable


def new_dues(
    chains: Sequence[Offerable], wanted: NewCheckout, quote: NewQuote | None, *, now: datetime
) -> dict[str, dict[str, Any]]:
    """Return the dues of a checkout that offers these chains, by token, as `Checkout.dues` keeps them.

    Nothing where no chain takes a token of another currency. A token is left out while its currency has no agreed rate, from a
    checkout that lasts longer than a rate is held, and where the merchant named the tokens. A price in its own currency is not
    converted: it is the due.
    """
    pegs = {token: currency for chain in chains for token, currency in chain.other_pegs.items()}
    if not pegs or wanted.pairs:
        return {}
    found = {token: _due(currency, wanted, quote, now=now) for token, currency in pegs.items()}
    return {token: due for token, due in found.items() if due is not None}


def _due(currency: str, wanted: NewCheckout, quote: NewQuote | None, *, now: datetime) -> dict[str, Any] | None:
    if quote is not None and wanted.currency == currency:
        return _fixed(currency, wanted.amount, quote.rate, quote.evidence, quote.taken_at)
    if wanted.expires_in > longest_expiry(currency):
        return None
    usd = quote.usd_amount if quote else wanted.amount
    worth = agreed_for(currency, usd, now=now)
    if worth is None:
        return None
    rate = worth.agreed.rate
    return _fixed(currency, price_worth(usd, rate, currency), rate, worth.evidence(), worth.agreed.taken_at)


def _fixed(
    currency: str, price: Decimal, rate: Decimal, sources: list[dict[str, str]], taken_at: datetime
) -> dict[str, Any]:
    return {
        "units": to_units(price),
        "currency": currency,
        "rate": format_rate(rate),
        "sources": sources,
        "taken_at": iso(taken_at),
    }


def offering(chains: list[Offerable], dues: dict[str, Any]) -> list[Offerable]:
    """Return the chains with the tokens that there are dues of, after their own."""
    if not dues:
        return chains
    return [
        replace(chain, tokens=[*chain.tokens, *(token for token in chain.other_pegs if token in dues)])
        for chain in chains
    ]
