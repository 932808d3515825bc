"""Transactions that a buyer's own wallet signs: always the whole amount due, to the merchant's recorded wallet.

The request contributes only the payer's address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core import signing

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.options import payment_request, refuse_payment, takes_money
from checkouts.selectors import reserved_amount
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.api.fields import storable
from wallets.browser_wallets import prepare_payment, send_payment
from wallets.chains.base import AddressError, ChainError
from wallets.chains.family import ChainSpec, NotEnoughError, PaymentOrder, PaymentRequest, TransactionRefusedError
from wallets.lookup import draw_look_up
from wallets.networks import chains
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus

# Longer than a transaction stays valid on the network.
_TICKET_SECONDS: Final = 600
_SIGNATURE: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{130})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A wallet's answer: the transaction's ticket, and 65 bytes of signature."""

    ticket: str
    signature: bytes


def parse_signed(body: Mapping[str, Any]) -> SignedTransaction:
    """Read `{ticket, signature}`. Raises InvalidRequestError."""
    signature = _SIGNATURE.fullmatch(_text(body, "signature"))
    if signature is None:
        raise InvalidRequestError("signature must be 65 bytes in hexadecimal.", param="signature")
    return SignedTransaction(_text(body, "ticket"), bytes.fromhex(signature[1]))


def prepare_transaction(checkout: Checkout, body: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return what the wallet `{chain, account}` is to sign: `{transaction}`, and on Tron a `ticket` to send it with.

    The checkout's merchant is loaded. Raises InvalidRequestError, ConflictError (state_conflict, amount_not_reserved,
    funds_insufficient), RateLimitError if all buyers together exceed the limit of the chain's nodes, and UnavailableError
    if none of our nodes can answer.
    """
    spec = _spec(checkout, _text(body, "chain"))
    request = _due(checkout, spec, now)
    order = PaymentOrder(
        payer=_account(body, spec),
        recipient=request.address,
        token=spec.tokens[request.token],
        units=request.units,
        reference=request.reference,
    )
    drawn = draw_look_up(spec)
    if drawn.exceeded:
        raise RateLimitError(max(1, drawn.reset - int(now.timestamp())))
    try:
        return _prepared(checkout, spec, order, now)
    except NotEnoughError:
        raise ConflictError("The account does not hold the amount.", code="funds_insufficient") from None
    except ChainError as error:
        raise _unavailable(spec) from error


def send_signed(checkout: Checkout, signed: SignedTransaction, *, now: datetime) -> None:
    """Send our transaction that the buyer's wallet signed; safe to repeat.

    Raises InvalidRequestError for a ticket that is not ours or too old, ConflictError (state_conflict, transaction_refused)
    if nothing was sent, and UnavailableError if it is unknown whether it was.
    """
    spec, raw, units = _opened(checkout, signed.ticket)
    if _due(checkout, spec, now).units != units:
        raise ConflictError("The amount due has changed.")
    try:
        send_payment(spec, raw, signed.signature)
    except TransactionRefusedError as error:
        raise ConflictError(f"{spec.title} refuses the transaction: {error}", code="transaction_refused") from None
    except ChainError as error:
        raise _unavailable(spec) from error


def _prepared(checkout: Checkout, spec: ChainSpec, order: PaymentOrder, now: datetime) -> dict[str, Any]:
    prepared = prepare_payment(spec, order, now=now, until=checkout.expires_at)
    if not prepared.raw:
        return {"transaction": prepared.transaction}
    content = {"chain": spec.name, "raw": prepared.raw.hex(), "units": order.units}
    ticket = signing.dumps(content, salt=_salt(checkout))
    return {"transaction": prepared.transaction, "ticket": ticket}


def _opened(checkout: Checkout, ticket: str) -> tuple[ChainSpec, bytes, int]:
    try:
        content = signing.loads(ticket, salt=_salt(checkout), max_age=_TICKET_SECONDS)
    except signing.BadSignature:
        raise InvalidRequestError("ticket belongs to another checkout, or is too old.", param="ticket") from None
    spec = _spec(checkout, content["chain"])
    return spec, bytes.fromhex(content["raw"]), content["units"]


def _salt(checkout: Checkout) -> str:
    return f"checkouts.transactions.{checkout.public_id}"


def _spec(checkout: Checkout, chain: str) -> ChainSpec:
    spec = chains().get(chain) if chain in checkout.offers else None
    is_payable = spec is not None and spec.family.prepares_payments(spec) and spec.family.wallets_chain_id(spec)
    if spec is None or not is_payable:
        raise InvalidRequestError("No transaction is prepared for this chain.", param="chain", code="chain_unsupported")
    return spec


def _due(checkout: Checkout, spec: ChainSpec, now: datetime) -> PaymentRequest:
    """Return the payment shown on the page now. Raises ConflictError, UnavailableError."""
    if checkout.mode != Mode.LIVE or not takes_money(checkout, now=now):
        refuse_payment(checkout)
    if chain_statuses(now=now)[spec.name] == ChainStatus.DOWN:
        raise _unavailable(spec)
    reserved = reserved_amount(checkout, now=now)
    token = checkout.offers[spec.name]["tokens"][0]
    request = payment_request(checkout, spec, token, reserved=reserved)
    if request is None or token not in spec.tokens:
        raise ConflictError("No exact amount is reserved.", code="amount_not_reserved")
    return request


def _account(body: Mapping[str, Any], spec: ChainSpec) -> str:
    text = _text(body, "account")
    try:
        account = spec.family.canonical_address(text)
    except AddressError as error:
        raise InvalidRequestError(f"account {error}", param="account") from None
    if not spec.family.can_sign(account):
        raise InvalidRequestError("account holds no key.", param="account")
    return account


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    # Text that UTF-8 cannot encode would fail later: signatures are over bytes.
    if not isinstance(value, str) or not storable(value):
        raise InvalidRequestError(f"{name} must be a string.", param=name)
    return value


def _unavailable(spec: ChainSpec) -> UnavailableError:
    return UnavailableError(f"{spec.title} does not answer; try again in a moment.")
