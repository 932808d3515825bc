"""What became of a proof: who was let in, on what ground, and how another try is known."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from florin_x402.answers import Headers
from florin_x402.catalogue import Option
from florin_x402.claims import ClaimStore
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
    """One proof used for one resource. `key` is what the facilitator knows the use by, `failures` how often it got nothing."""

    digest: str
    key: str
    failures: int = 0
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Charge:
    """A signed authorisation and what it is to pay for, as the facilitator is asked about it."""

    option: Option
    version: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that is let in. `claim` is the name under which its payment was used up here, `unsettled` what is still owed."""

    payment: Payment
    asked: Asked
    price: Price
    ticket: Ticket
    receipt: tuple[tuple[str, str], ...] = ()
    claim: str = ""
    unsettled: Charge | None = None


class Tickets:
    """Hands out tickets, and the same one again where a payer got nothing for it, so that nobody pays twice."""

    def __init__(self, claims: ClaimStore) -> None:
        self._claims = claims

    def ticket_for(self, proof: Proof, asked: Asked, price: Price) -> Ticket:
        """Return the ticket that was kept for this proof, which is then no longer kept, or a new one."""
        digest = digest_of(proof, f"{asked.paths[0]} {price.text}")
        kept = self._claims.take(f"again:{digest}")
        if kept is None:
            return Ticket(digest, secrets.token_urlsafe(24))
        failures, _, key = kept.partition(":")
        return Ticket(digest, key, int(failures), is_repeated=True)

    def keep(self, ticket: Ticket) -> None:
        """Have the same proof find the same ticket: the facilitator's answer was lost, or is still to come."""
        value = f"{ticket.failures}:{ticket.key}"
        self._claims.add(f"again:{ticket.digest}", value, seconds=_HOUR)

    def keep_after_failure(self, admission: Admission) -> None:
        """Let a payer try again whose handler failed; not for ever, since each try is work."""
        ticket = admission.ticket
        if not admission.payment.settled or ticket.failures >= _MOST_FAILURES:
            return
        if admission.claim:
            self._claims.take(admission.claim)
        self.keep(Ticket(ticket.digest, ticket.key, ticket.failures + 1))


def receipt(header: str, told: Mapping[str, Any]) -> Headers:
    """Return the header that says what was paid."""
    return [(header, encode(told))]
