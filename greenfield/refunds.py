"""Refunds that plugins ask for: a refund of an invoice, and a pull payment, which names no invoice. People approve both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.forms import CURRENCY
from checkouts.models import Checkout
from checkouts.selectors import of_orders
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import missing, refuse
from gateway.core.json import number_text
from greenfield.bodies import read_amount, read_currency, read_line, read_moment
from greenfield.methods import Pair, offered_pairs, pairs_of
from payouts.lifecycle.service import (
    CLAIM_SPAN,
    LONGEST_CLAIM,
    MOST_CHOICES,
    SHORTEST_CLAIM,
    Requested,
    Terms,
    request_payout,
    request_refund,
)
from payouts.lifecycle.sources import Source, is_usd, overpaid_rest, source_transfers
from payouts.models import REASON_LENGTH
from wallets.models import Transfer
from wallets.networks import accepted_tokens
from wallets.selectors import configured_chains

_WHOLE: Final = frozenset({"RateThen", "CurrentRate", "Fiat"})
"""Variants of BTCPay Server that differ by the rate: here a token is a dollar, then as now."""

_WORDS: Final = re.compile(r"[\s,;:()\[\]#\"']+")
_MOST_WORDS: Final = 20
_WORD_LENGTH: Final = 128


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose key asks, and for what it is noted."""

    merchant: Merchant
    mode: Mode
    key_id: str
    actor: Actor
    now: datetime


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was asked for, and what a pull payment says of it."""

    asked: Requested
    name: str
    description: str
    currency: str


@transaction.atomic
def refund_invoice(asker: Asker, checkout: Mapping[str, Any], body: Mapping[str, Any]) -> Pulled:
    """Ask for a refund of an invoice, of all that is left of it unless the body says otherwise; the buyer claims it.

    `checkout` is our API's. Raises what `request_refund` raises.
    """
    name, description = read_line(body, "name", REASON_LENGTH), read_line(body, "description", REASON_LENGTH)
    if _digits(body.get("subtractPercentage")).strip("0."):
        raise refuse("subtractPercentage", "A part cannot be kept back: send customAmount instead.")
    amount, currency = _wanted(asker, checkout, body)
    is_token = currency in accepted_tokens()
    asked = request_refund(
        asker.merchant,
        mode=asker.mode,
        source=Source(checkout=checkout["id"]),
        amount=amount,
        # A token that is named is one for a dollar, which the money that came need not be.
        currency="" if amount is None else CURRENCY if is_token else currency,
        terms=Terms(reason=description or name, key_id=asker.key_id),
        now=asker.now,
        actor=asker.actor,
    )
    return Pulled(asked, name, description, _told(asked, currency if is_token else CURRENCY))


def pull_payment(asker: Asker, body: Mapping[str, Any]) -> Pulled:
    """Ask for a refund of the invoice whose order the name has in it, or for a payout where that is not certain.

    It is certain if exactly one completed checkout's order is a word of the name. Then no more can be asked for than is left of
    it: otherwise a refund that is sent twice would be paid twice. An amount in the order's own currency is converted at its
    quote, and one without a currency is in the order's; without such an order both are refused. Raises what `request_refund` and
    `request_payout` raise, and InvalidRequestError where the amount is missing, or no payment method can be paid.
    """
    name, description = read_line(body, "name", REASON_LENGTH), read_line(body, "description", REASON_LENGTH)
    amount = read_amount(body, "amount")
    if amount is None:
        raise missing("amount")
    source = _named_checkout(asker, name)
    currency = _pulled_currency(body, source)
    is_token = currency in accepted_tokens()
    pairs = _payable(asker, body, currency if is_token else CURRENCY)
    terms = Terms(reason=description or name, key_id=asker.key_id, claim_for=_claim_span(body, asker.now))
    if source is None and not is_token and currency != CURRENCY:
        raise refuse("currency", f"No completed order of the name was quoted in {currency}: name one, or send USD.")
    if source is None:
        asked = request_payout(
            asker.merchant,
            mode=asker.mode,
            amount=amount,
            terms=replace(terms, chain=pairs[0][0], token=pairs[0][1], choices=pairs[1:]),
            now=asker.now,
            actor=asker.actor,
        )
    else:
        asked = request_refund(
            asker.merchant,
            mode=asker.mode,
            source=Source(checkout=source.public_id),
            amount=amount,
            currency=CURRENCY if is_token else currency,
            # The token that came is the first choice, and the only one if it is of another currency.
            terms=replace(terms, choices=pairs[: MOST_CHOICES - 1] if _came_in_dollars(asker, source) else ()),
            now=asker.now,
            actor=asker.actor,
        )
    return Pulled(asked, name, description, _told(asked, currency if is_token else CURRENCY))


def _came_in_dollars(asker: Asker, paid: Checkout) -> bool:
    """Return whether a refund of a checkout is of tokens that are one USD each. Raises what `source_transfers` does."""
    newest = source_transfers(Source(checkout=paid.public_id), merchant_id=asker.merchant.pk, mode=asker.mode)[0]
    return is_usd(newest.chain, newest.token)


def _told(asked: Requested, currency: str) -> str:
    """Return the currency of a pull payment's amount: the one that was asked for, or the token, if that is no USD."""
    payout = asked.payout
    return currency if is_usd(payout.chain, payout.token) else payout.token


def _pulled_currency(body: Mapping[str, Any], source: Checkout | None) -> str:
    """Return the currency of a pull payment's amount: the one that the body names, else the order's.

    Raises InvalidRequestError without both, as BTCPay Server does.
    """
    if source is None:
        if not body.get("currency"):
            raise missing("currency")
        return read_currency(body, "currency", *accepted_tokens())
    # An order keeps its quote, also once prices are taken in its currency no longer.
    named = body if body.get("currency") else {"currency": source.currency}
    return read_currency(named, "currency", *accepted_tokens(), source.currency)


def _digits(value: Any) -> str:
    return number_text(value) or (value if isinstance(value, str) else "")


def _wanted(asker: Asker, checkout: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[Decimal | None, str]:
    """Return the amount that a refund's variant means, None for all that is left, and its currency."""
    variant = body.get("refundVariant") or "CurrentRate"
    if variant == "Custom":
        amount = read_amount(body, "customAmount")
        if amount is None:
            raise missing("customAmount")
        # Without a currency it is in the invoice's: a number of euros is no number of dollars.
        named = body if body.get("customCurrency") else {"customCurrency": checkout["currency"]}
        return amount, read_currency(named, "customCurrency", *accepted_tokens(), checkout["currency"])
    if variant == "OverpaidAmount":
        paid = Checkout.objects.get(merchant=asker.merchant, mode=asker.mode, public_id=checkout["id"])
        # A shop may ask twice, also at once, and must not get a part of the price the second time: each refund waits here.
        money = Transfer.objects.filter(pk__in=paid.payments.values("transfer")).order_by("pk")
        list(money.select_for_update(of=("self",), no_key=True))
        if not (over := overpaid_rest(paid)):
            raise refuse("refundVariant", "This invoice was not overpaid, or that is refunded already.")
        return over, CURRENCY
    if not isinstance(variant, str) or variant not in _WHOLE:
        raise refuse(
            "refundVariant", f"refundVariant must be one of {', '.join(sorted(_WHOLE))}, OverpaidAmount, Custom."
        )
    return None, CURRENCY


def _payable(asker: Asker, body: Mapping[str, Any], currency: str) -> Sequence[Pair]:
    """Return what the recipient may choose from: the methods that the body names, of those that the store has set up."""
    named = pairs_of(body.get("payoutMethods")) or pairs_of(body.get("paymentMethods"))
    accepted = offered_pairs(configured_chains(asker.merchant.pk, asker.mode))
    found = [
        pair for pair in accepted if (not named or pair in named) and (currency == CURRENCY or pair[1] == currency)
    ]
    if not found:
        raise InvalidRequestError("None of these payment methods can be paid now.", param="payoutMethods")
    return found[:MOST_CHOICES]


def _named_checkout(asker: Asker, name: str) -> Checkout | None:
    words = [word for word in dict.fromkeys(_WORDS.split(name)) if word and len(word) <= _WORD_LENGTH][:_MOST_WORDS]
    if not words:
        return None
    paid = of_orders(asker.merchant.pk, asker.mode, words).filter(status=CheckoutStatus.COMPLETED)
    found = list(paid.order_by("pk")[:2])
    return found[0] if len(found) == 1 else None


def _claim_span(body: Mapping[str, Any], now: datetime) -> timedelta:
    """Return how long the claim page waits, moved into our range."""
    ends = read_moment(body, "expiresAt")
    return CLAIM_SPAN if ends is None else min(max(ends - now, SHORTEST_CLAIM), LONGEST_CLAIM)
