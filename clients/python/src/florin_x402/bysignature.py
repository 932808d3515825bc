"""Admits requests by signed authorisation (the public standard): verified first, settled before or after the handler."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from florin_x402.admissions import Admission, Charge, Payment, Ticket, Tickets, receipt
from florin_x402.answers import Headers, requirement, resource_of
from florin_x402.catalogue import Kind, Option
from florin_x402.claims import ClaimStore
from florin_x402.errors import FacilitatorError, RefusedError, UnclearError
from florin_x402.facilitator import Facilitator
from florin_x402.offers import receipt_in
from florin_x402.prices import Asked, Price
from florin_x402.proofs import SignedProof

logger = logging.getLogger("florin_x402")

_DAY: Final = 86_400
_PENDING: Final = "settlement_pending"
_TRIES: Final = 2
_RECEIPTS: Final = {1: "X-PAYMENT-RESPONSE", 2: "PAYMENT-RESPONSE"}
_SAME: Final = {1: ("scheme", "network"), 2: ("scheme", "network", "amount")}


class SignatureDesk:
    """Accepts proofs of the public standard."""

    def __init__(self, facilitator: Facilitator, tickets: Tickets, claims: ClaimStore, *, wants_receipts: bool) -> None:
        self._facilitator = facilitator
        self._tickets = tickets
        self._claims = claims
        self._wants_receipts = wants_receipts

    def admit(self, asked: Asked, price: Price, options: Sequence[Option], proof: SignedProof) -> Admission:
        """Verify an authorisation, and settle it if the price says "before". Raises RefusedError, FacilitatorError."""
        charge = _charge(asked, price, options, proof)
        ticket = self._tickets.ticket_for(proof, asked.paths[0], price)
        payer = "" if ticket.is_repeated else self._verify(charge)
        payment = _payment(price, charge, payer)
        found = Admission(payment, asked, price, ticket, unsettled=charge)
        # A repeated one may be used on the chain already, so it can no longer be verified.
        if ticket.is_repeated or price.settles_first:
            return self.settle(found, charge)
        return found

    def settle(self, admission: Admission, charge: Charge) -> Admission:
        """Settle an authorisation for this request only. Raises RefusedError, FacilitatorError."""
        answer = self._settled(self._body(charge, admission.asked), admission.ticket)
        payment = admission.payment
        payer = _text(answer.get("payer")) or payment.payer
        transaction = _text(answer.get("transaction"))
        payment_id = _payment_id(answer)
        claim = f"paid:{payment.network}:{transaction.lower()}:{payer.lower()}"
        if payment_id:
            # One transaction may carry out several authorisations of a payer: each is a payment of its own.
            claim = f"{claim}:{payment_id}"
        # Other facilitators give every request with one authorisation the same answer; it pays for only one of them.
        if not self._is_claimed(claim, admission.ticket, payment_id):
            raise RefusedError("already_used", "This payment is already used.")
        paid = replace(payment, payer=payer, transaction=transaction, settled=True, payment_id=payment_id)
        return replace(admission, payment=paid, receipt=tuple(_receipt(charge, answer)), claim=claim, unsettled=None)

    def _is_claimed(self, claim: str, ticket: Ticket, payment_id: str) -> bool:
        try:
            return self._claims.add(claim, ticket.digest, seconds=_DAY)
        except Exception:
            # Florin, which alone names payments, confirms each to one request. Its payer has paid, and would never be served.
            if not payment_id:
                raise
            logger.exception("x402: a payment was not noted as used")
            return True

    def _verify(self, charge: Charge) -> str:
        return _text(self._facilitator.verify_signed(charge.body).get("payer"))

    def _body(self, charge: Charge, asked: Asked) -> Mapping[str, Any]:
        # Beside the payload, where no payer writes.
        wanted = {"receiptFor": asked.url} if self._wants_receipts and charge.version == 2 else {}
        return {**charge.body, **wanted}

    def _settled(self, body: Mapping[str, Any], ticket: Ticket) -> Mapping[str, Any]:
        for _ in range(_TRIES):
            try:
                answer = self._facilitator.settle(body, key=ticket.key)
            except FacilitatorError as error:
                self._tickets.keep(ticket)
                raise UnclearError(str(error), retry_after=error.retry_after) from error
            except RefusedError:
                raise
            except BaseException:
                # The worker ends, and the payment may have been carried out.
                self._tickets.keep(ticket)
                raise
            if answer.get("success") is True:
                return answer
            reason = _text(answer.get("errorReason")) or "unexpected_settle_error"
            if reason != _PENDING:
                raise RefusedError(reason, _text(answer.get("errorMessage"))[:300])
        self._tickets.keep(ticket)
        raise UnclearError("The payment is on its way: send the same proof again.")


def _charge(asked: Asked, price: Price, options: Sequence[Option], proof: SignedProof) -> Charge:
    """Return our requirements that match a proof's; the facilitator gets ours, never the payer's copy."""
    for option in options:
        kind = option.kind(proof.version)
        if kind is not None and _is_accepted(proof, asked, price, option, kind):
            payload = dict(proof.payload)
            if proof.version == 2:
                payload["resource"] = resource_of(asked, price)
            body = {
                "x402Version": proof.version,
                "paymentPayload": payload,
                "paymentRequirements": requirement(asked, price, option, kind),
            }
            return Charge(option, proof.version, body)
    raise RefusedError("invalid_payment_requirements", "The payment is for something else.")


def _is_accepted(proof: SignedProof, asked: Asked, price: Price, option: Option, kind: Kind) -> bool:
    wanted, told = requirement(asked, price, option, kind), proof.accepted
    if any(told.get(name) != wanted[name] for name in _SAME[proof.version]):
        return False
    return proof.version == 1 or all(_folded(told.get(name)) == _folded(wanted[name]) for name in ("asset", "payTo"))


def _folded(address: object) -> object:
    """Compare addresses; the case of an EVM address is only a checksum."""
    is_evm = isinstance(address, str) and address.startswith(("0x", "0X"))
    return str(address).lower() if is_evm else address


def _payment(price: Price, charge: Charge, payer: str) -> Payment:
    return Payment(
        protocol="exact",
        network=charge.option.chain,
        token=charge.option.token,
        amount=Decimal(price.text),
        payer=payer,
        pay_to=charge.option.pay_to,
        transaction="",
        settled=False,
    )


def _receipt(charge: Charge, answer: Mapping[str, Any]) -> Headers:
    names = ("success", "transaction", "network", "payer", "amount")
    told = {name: answer[name] for name in names if answer.get(name) is not None}
    signed = receipt_in(answer) if charge.version == 2 else {}
    return receipt(_RECEIPTS[charge.version], told | signed)


def _payment_id(answer: Mapping[str, Any]) -> str:
    extra = answer.get("extra")
    return _text(extra.get("paymentId")) if isinstance(extra, dict) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
