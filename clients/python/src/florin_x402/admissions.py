"""Results of checking a proof: the payment, the admission, and the ticket that identifies a retry."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from florin_x402.answers import Headers
from florin_x402.catalogue import Option
from florin_x402.claims import ClaimStore
from florin_x402.identifiers import Named
from florin_x402.mpp.challenges import Challenge
from florin_x402.prices import Asked, Price
from florin_x402.proofs import Proof, digest_of
from florin_x402.wire import encode

_HOUR: Final = 3_600
_MOST_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class Payment:
    """What was paid for a request. `amount` is the price in tokens; `payer` and `pay_to` are addresses.

    `protocol` is "hash", or "exact" for the public standard. While an authorisation was only checked, `settled` is false and
    `transaction` and `payment_id`, which is the facilitator's, are empty.
    """

    protocol: str
    network: str
    token: str
    amount: Decimal
    payer: str
    pay_to: str
    transaction: str
    settled: bool
    payment_id: str = ""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One proof used for one resource. `key` is the Idempotency-Key, `failures` counts failed handler runs."""

    digest: str
    key: str
    failures: int = 0
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Charge:
    """A signed authorisation and its payment requirements, as sent to the facilitator."""

    option: Option
    version: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Admission:
    """An admitted request. `claim` is the key of its used payment, `unsettled` an authorisation still to settle.

    `named` is set if its payer gave it an id, under which its answer is kept, `challenge` if it was paid by MPP.
    """

    payment: Payment
    asked: Asked
    price: Price
    ticket: Ticket
    receipt: tuple[tuple[str, str], ...] = ()
    claim: str = ""
    unsettled: Charge | None = None
    named: Named | None = None
    challenge: Challenge | None = None


class Tickets:
    """Issues tickets. A payer that was not served gets the same ticket again, so that it does not pay twice."""

    def __init__(self, claims: ClaimStore) -> None:
        self._claims = claims

    def ticket_for(self, proof: Proof, resource: str, price: Price) -> Ticket:
        """Remove and return the ticket kept for this proof of a resource, or return a new one."""
        digest = digest_of(proof, f"{resource} {price.text}")
        kept = self._claims.take(f"again:{digest}")
        if kept is None:
            return Ticket(digest, secrets.token_urlsafe(24))
        failures, _, key = kept.partition(":")
        return Ticket(digest, key, int(failures), is_repeated=True)

    def keep(self, ticket: Ticket) -> None:
        """Keep the ticket for a retry of the same proof: the facilitator's answer was lost or is pending."""
        value = f"{ticket.failures}:{ticket.key}"
        self._claims.add(f"again:{ticket.digest}", value, seconds=_HOUR)

    def keep_after_failure(self, admission: Admission) -> None:
        """Allow another try after the handler failed; the number of tries is limited, because each one costs work."""
        ticket = admission.ticket
        if not admission.payment.settled or ticket.failures >= _MOST_FAILURES:
            return
        if admission.claim:
            self._claims.take(admission.claim)
        # Another request with the proof may have kept its own, whose key has no payment.
        self._claims.take(f"again:{ticket.digest}")
        self.keep(Ticket(ticket.digest, ticket.key, ticket.failures + 1))


def receipt(header: str, told: Mapping[str, Any]) -> Headers:
    """Return the header that describes the payment."""
    return [(header, encode(told))]
