"""The standard's extension `offer-receipt`: what a seller offers, and that a payer paid, signed by this installation's key.

The payloads are the extension's, version 1, as compact JWS without a type, so that none passes for a receipt of a checkout. Their
place in answers is not stable in the specification: only this module writes it.
Source: npm @x402/extensions 2.27, offer-receipt.
"""

from datetime import datetime
from typing import Any, Final

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import missing, refuse, text_of
from gateway.core.signing import KeyPurpose, NoSigningKeyError, has_key, plain_digest, sign_plain
from wallets.networks import chain_spec
from x402.exact import reasons
from x402.exact.authorizations import Success
from x402.exact.errors import RefusedPaymentError
from x402.exact.forms import parse_offer
from x402.exact.inputs import Body, Offer, StandardRequest
from x402.exact.kinds import network_of
from x402.models import RESOURCE_LENGTH, Authorization
from x402.payments.addresses import is_paid_at

EXTENSION: Final = "offer-receipt"
RECEIPT_FOR: Final = "receiptFor"
"""The field of a body of `/settle` with the resource's URL. Payers cannot write it: published middlewares send no such field."""

_VERSION: Final = 1
_VALID_SECONDS: Final = 300
_MOST_OFFERS: Final = 32

_OFFERS: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"offers": {"type": "array", "items": {"type": "object", "required": ["format", "signature"]}}},
    "required": ["offers"],
}
_RECEIPT: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"receipt": {"type": "object", "required": ["format", "signature"]}},
    "required": ["receipt"],
}


def extensions(mode: Mode, *, now: datetime) -> list[str]:
    """Return the extensions of `/supported`."""
    return [EXTENSION] if has_key(_purpose(mode), now=now) else []


def sign_offers(merchant_id: int, mode: Mode, body: Body, *, now: datetime) -> dict[str, Any]:
    """Sign what a seller is about to ask for a resource: `accepts` of a 402. Returns the extension, empty if nothing can be signed.

    Raises InvalidRequestError for an offer that would not be settled to this merchant.
    """
    for name in ("resource", "accepts"):
        if body.get(name) is None:
            raise missing(name)
    url, accepts = _url(body["resource"], "resource"), body["accepts"]
    if not isinstance(accepts, list) or not 0 < len(accepts) <= _MOST_OFFERS:
        raise refuse("accepts", f"accepts must be a list of 1 to {_MOST_OFFERS} requirements.")
    offered = [_offer(one, merchant_id, mode, now=now) for one in accepts]
    until = int(now.timestamp()) + _VALID_SECONDS
    told = {"version": _VERSION, "resourceUrl": url, "validUntil": until}
    try:
        offers = [_signed(told | dict(one.texts), mode, now=now) for one in offered]
    except NoSigningKeyError:
        return {"extension": {}, "validUntil": until}
    indexed = [{"acceptIndex": index, **offer} for index, offer in enumerate(offers)]
    return {"extension": {EXTENSION: {"info": {"offers": indexed}, "schema": _OFFERS}}, "validUntil": until}


def resource_in(body: Body) -> str:
    """Return the resource for which a body of `/settle` wants a receipt; "" if it wants none. Raises RefusedPaymentError."""
    if body.get(RECEIPT_FOR) is None:
        return ""
    try:
        return _url(body[RECEIPT_FOR], RECEIPT_FOR)
    except InvalidRequestError as error:
        raise RefusedPaymentError(reasons.INVALID_REQUIREMENTS, str(error)) from error


def with_receipt(
    answer: dict[str, Any], request: StandardRequest, resource: str, mode: Mode, claimed: Success
) -> dict[str, Any]:
    """Return a success with its receipt, the same for each repeat.

    As it is if no receipt is wanted, or one for another resource than the first time, or if nothing was paid or can be signed.
    """
    if not resource or resource != claimed.receipt_for or request.version == 1 or not answer["transaction"]:
        return answer
    told = _receipt(request.network, request.signed.payer, answer["transaction"], claimed)
    try:
        receipt = _signed(told, mode, now=claimed.at)
    except NoSigningKeyError:
        return answer
    return answer | {"extensions": {EXTENSION: {"info": {"receipt": receipt}, "schema": _RECEIPT}}}


def is_receipt_of(row: Authorization, network: str, transaction: str, digest: str) -> bool:
    """Whether the receipt of an authorisation, of when this transaction carried it out, has a payload with this digest."""
    if row.served_at is None or network != network_of(chain_spec(row.chain), 2):
        return False
    told = _receipt(network, row.payer, transaction, Success(row.served_at, row.receipt_for))
    return plain_digest(told) == digest


def _receipt(network: str, payer: str, transaction: str, claimed: Success) -> dict[str, Any]:
    """Return the payload of a receipt. All of it can be told again from the row of its authorisation."""
    return {
        "version": _VERSION,
        "network": network,
        "resourceUrl": claimed.receipt_for,
        "payer": payer,
        "issuedAt": int(claimed.at.timestamp()),
        "transaction": transaction,
    }


def _offer(told: object, merchant_id: int, mode: Mode, *, now: datetime) -> Offer:
    try:
        offer = parse_offer(told, mode)
    except RefusedPaymentError as error:
        raise refuse(
            "accepts", error.message or f"accepts has requirements that are not settled: {error.reason}."
        ) from error
    if not is_paid_at(merchant_id, mode, offer.spec.name, offer.pay_to, now=now):
        raise refuse("accepts", "payTo is not where this merchant's machines pay: GET /x402/config says where.")
    return offer


def _url(value: object, name: str) -> str:
    text = text_of(value, name, RESOURCE_LENGTH)
    if not text.startswith(("https://", "http://")):
        raise refuse(name, f"{name} must be the resource's URL.")
    return text


def _signed(payload: dict[str, Any], mode: Mode, *, now: datetime) -> dict[str, Any]:
    made = sign_plain(payload, _purpose(mode), now=now)
    return {"format": "jws", "signature": made.token.decode()}


def _purpose(mode: Mode) -> KeyPurpose:
    return KeyPurpose.RECEIPT if mode == Mode.LIVE else KeyPurpose.TEST
