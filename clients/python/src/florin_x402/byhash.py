"""Admits requests by transaction hash: the facilitator's verification uses the payment up."""

from collections.abc import Sequence
from decimal import Decimal

from florin_x402.admissions import Admission, Payment, Ticket, Tickets, receipt
from florin_x402.answers import plain_requirements
from florin_x402.catalogue import Option
from florin_x402.errors import RefusedError
from florin_x402.facilitator import Facilitator
from florin_x402.prices import Asked, Price
from florin_x402.proofs import HashProof


class HashDesk:
    """Accepts proofs of the specification's protocol."""

    def __init__(self, facilitator: Facilitator, tickets: Tickets) -> None:
        self._facilitator = facilitator
        self._tickets = tickets

    def admit(
        self, asked: Asked, price: Price, options: Sequence[Option], proof: HashProof, *, purpose: str = ""
    ) -> Admission:
        """Use a payment up for a request, or for one `purpose` of it alone. Raises RefusedError, FacilitatorError."""
        named = (proof.payment["chain"], proof.payment["token"])
        fitting = (one for one in options if (one.chain, one.token) == named)
        option = next(fitting, options[0])
        resource = f"{asked.paths[0]}#{purpose}" if purpose else asked.paths[0]
        ticket = self._tickets.ticket_for(proof, resource, price)
        payment_id = self._verify(proof, resource, price, option, ticket)
        payment = _payment(proof, price, option, payment_id)
        told = {
            "success": True,
            "transaction": payment.transaction,
            "network": payment.network,
            "payer": payment.payer,
            "paymentId": payment_id,
        }
        headers = receipt("X-PAYMENT-RESPONSE", told)
        return Admission(payment, asked, price, ticket, tuple(headers))

    def _verify(self, proof: HashProof, resource: str, price: Price, option: Option, ticket: Ticket) -> str:
        wanted = plain_requirements(price, option)
        del wanted["payTo"]
        wanted |= {"scheme": "exact", "resource": resource}
        try:
            answer = self._facilitator.verify_hash(proof.payment, wanted, key=ticket.key)
        except RefusedError as error:
            # The request whose answer was lost may still be judged, elsewhere, and use the payment up under this key.
            if ticket.is_repeated and error.retry_after is not None:
                self._tickets.keep(ticket)
            raise
        except BaseException:
            # It may have been used up despite the error, or the end of the worker.
            self._tickets.keep(ticket)
            raise
        found = answer.get("paymentId")
        return found if isinstance(found, str) else ""


def _payment(proof: HashProof, price: Price, option: Option, payment_id: str) -> Payment:
    told = proof.payment
    return Payment(
        protocol="hash",
        network=option.chain,
        token=option.token,
        amount=Decimal(price.text),
        payer=told["payerAddress"],
        pay_to=told["payTo"],
        transaction=told["txHash"],
        settled=True,
        payment_id=payment_id,
    )
