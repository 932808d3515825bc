"""Transactions that a buyer's own wallet signs: always the whole amount due, to the merchant's recorded wallet.

The request contributes only the payer's address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from django.core import signing

from accounts.states import Mode
from checkouts.gas_free import authorized, co_signed
from checkouts.gas_free.tickets import FREE_TICKET, read_ticket, unsigned
from checkouts.models import Checkout
from checkouts.options import payment_request, refuse_payment, takes_money
from checkouts.selectors import reserved_amount
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.api.fields import missing, storable
from wallets.browser_wallets import prepare_payment, send_payment
from wallets.chains.base import AddressError, ChainError
from wallets.chains.family import (
    ChainSpec,
    NotEnoughError,
    PaymentOrder,
    PaymentRequest,
    SignedOtherwiseError,
    TransactionRefusedError,
)
from wallets.lookup import draw_look_up
from wallets.networks import known_chains
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus

# Longer than a transaction stays valid on the network.
_TICKET_SECONDS: Final = 600
# A key's has 65 bytes; a wallet that is a contract may write more, for payments without a fee.
_SIGNATURE: Final = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2}){64,1400})", re.ASCII)
_KEY_BYTES: Final = 65
_MOST_SIGNED: Final = 1_400


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A wallet's answer: the transaction's ticket, and the signature: 65 bytes of a key, 64 on Solana, more of a contract."""

    ticket: str
    signature: bytes


def parse_signed(body: Mapping[str, Any]) -> SignedTransaction:
    """Read `{ticket, signature}`. Raises InvalidRequestError."""
    signature, ticket = _SIGNATURE.fullmatch(_text(body, "signature")), _text(body, "ticket")
    signed = bytes.fromhex(signature[1]) if signature else b""
    if not signed or (len(signed) != _KEY_BYTES and not ticket.startswith(FREE_TICKET)):
        raise InvalidRequestError("signature must be 65 bytes in hexadecimal.", param="signature")
    return SignedTransaction(ticket, signed)


def prepare_transaction(checkout: Checkout, body: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return what the wallet `{chain, account}` is to sign: `{transaction}`, and on Tron a `ticket` to send it with.

    With `free: true` it is `{typed_data, ticket}`, on Solana `{transaction, ticket}`: our gas account sends it, and pays the network.

    The checkout's merchant is loaded. Raises InvalidRequestError, ConflictError (state_conflict, amount_not_reserved,
    funds_insufficient; of free payments also gas_free_unavailable and payment_pending), RateLimitError if all buyers together
    exceed the limit of the chain's nodes, and UnavailableError if none of our nodes can answer.
    """
    is_free = _is_free(body)
    spec = _spec(checkout, _text(body, "chain"), is_free=is_free)
    request, payer = _due(checkout, spec, now, in_tests=is_free), _account(body, spec)
    drawn = draw_look_up(spec)
    if drawn.exceeded:
        raise RateLimitError(max(1, drawn.reset - int(now.timestamp())))
    if is_free:
        return _offered(checkout, request, payer, now)
    order = PaymentOrder(
        payer=payer,
        recipient=request.address,
        token=spec.tokens[request.token],
        units=request.units,
        reference=request.reference,
        memo=request.memo,
    )
    try:
        return _prepared(checkout, spec, order, now)
    except NotEnoughError:
        raise ConflictError("The account does not hold the amount.", code="funds_insufficient") from None
    except ChainError as error:
        raise _unavailable(spec) from error


def send_signed(checkout: Checkout, signed: SignedTransaction, *, now: datetime) -> dict[str, Any]:
    """Send our transaction that the buyer's wallet signed; return its `{tx_hash}` where we know it. Safe to repeat.

    Raises InvalidRequestError for a ticket that is not ours or too old, or if the wallet signed something else (signature_invalid),
    ConflictError (state_conflict, transaction_refused) if nothing was sent, and UnavailableError if it is unknown whether it was. Of
    free payments ConflictError is gas_free_unavailable, payment_pending or funds_insufficient.
    """
    if signed.ticket.startswith(FREE_TICKET):
        return _sent_free(checkout, signed, now)
    spec, raw, units = _opened(checkout, signed.ticket)
    if _due(checkout, spec, now).units != units:
        raise ConflictError("The amount due has changed.")
    try:
        send_payment(spec, raw, signed.signature)
    except SignedOtherwiseError:
        raise unsigned() from None
    except TransactionRefusedError as error:
        raise ConflictError(f"{spec.title} refuses the transaction: {error}", code="transaction_refused") from None
    except ChainError as error:
        raise _unavailable(spec) from error
    return {}


def _offered(checkout: Checkout, request: PaymentRequest, payer: str, now: datetime) -> dict[str, Any]:
    try:
        return _way(request.spec).offer(checkout, request, payer, now=now)
    except ChainError as error:
        raise _unavailable(request.spec) from error


def _sent_free(checkout: Checkout, signed: SignedTransaction, now: datetime) -> dict[str, Any]:
    chain = read_ticket(checkout, signed.ticket)["chain"]
    spec = _spec(checkout, chain, is_free=True)
    way = _way(spec)
    tx_hash = way.sent_already(checkout, signed.ticket)
    if not tx_hash:
        due = _due(checkout, spec, now, in_tests=True)
        _refuse_length(spec, signed.signature)
        tx_hash = way.accept(checkout, signed.ticket, signed.signature, due, now=now)
    return {"tx_hash": tx_hash}


class _Way(Protocol):
    """What `authorized` and `co_signed` each implement: how a payment is sent for its payer."""

    def offer(self, checkout: Checkout, due: PaymentRequest, payer: str, *, now: datetime) -> dict[str, Any]: ...
    def sent_already(self, checkout: Checkout, ticket: str) -> str: ...
    def accept(
        self, checkout: Checkout, ticket: str, signature: bytes, due: PaymentRequest, *, now: datetime
    ) -> str: ...


def _way(spec: ChainSpec) -> _Way:
    return authorized if spec.family.signs_transfers else co_signed


def _refuse_length(spec: ChainSpec, signature: bytes) -> None:
    # Keys on Solana write 64 bytes; elsewhere one more says which of two keys it was.
    least, most = (_KEY_BYTES, _MOST_SIGNED) if spec.family.signs_transfers else (_KEY_BYTES - 1, _KEY_BYTES - 1)
    if not least <= len(signature) <= most:
        raise InvalidRequestError("signature has another length.", param="signature")


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
    spec = _spec(checkout, content["chain"], is_free=False)
    return spec, bytes.fromhex(content["raw"]), content["units"]


def _salt(checkout: Checkout) -> str:
    return f"checkouts.transactions.{checkout.public_id}"


def _is_free(body: Mapping[str, Any]) -> bool:
    value = body.get("free", False)
    if not isinstance(value, bool):
        raise InvalidRequestError("free must be true or false.", param="free")
    return value


def _sends_for(spec: ChainSpec) -> bool:
    return spec.family.signs_transfers or spec.family.takes_fee_payer


def _spec(checkout: Checkout, chain: str, *, is_free: bool) -> ChainSpec:
    spec = known_chains().get(chain) if chain in checkout.offers else None
    is_written = spec is not None and (_sends_for(spec) if is_free else spec.family.prepares_payments(spec))
    is_payable = spec is not None and is_written and spec.family.wallets_chain_id(spec)
    if spec is None or not is_payable:
        raise InvalidRequestError("No transaction is prepared for this chain.", param="chain", code="chain_unsupported")
    return spec


def _due(checkout: Checkout, spec: ChainSpec, now: datetime, *, in_tests: bool = False) -> PaymentRequest:
    """Return the payment shown on the page now. Raises ConflictError, UnavailableError."""
    is_live = checkout.mode == Mode.LIVE
    if not (is_live or in_tests) or not takes_money(checkout, now=now):
        refuse_payment(checkout)
    if is_live and chain_statuses(now=now)[spec.name] == ChainStatus.DOWN:
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
        raise InvalidRequestError(f"account {error}", param="account", code="address_invalid") from None
    if not spec.family.can_sign(account):
        raise InvalidRequestError("account holds no key.", param="account", code="address_invalid")
    return account


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        raise missing(name)
    # Text that UTF-8 cannot encode would fail later: signatures are over bytes.
    if not isinstance(value, str) or not storable(value):
        raise InvalidRequestError(f"{name} must be a string.", param=name)
    return value


def _unavailable(spec: ChainSpec) -> UnavailableError:
    return UnavailableError(f"{spec.title} does not answer; try again in a moment.")
