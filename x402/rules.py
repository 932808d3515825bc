"""Rules for proofs by hash: from facts to a verdict. Pure.

The request's claims are not trusted. Only the chain's records of the transaction and our records of the merchant's
addresses count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from wallets.chains.registry import facts_of
from x402.inputs import Proof, Requirements
from x402.states import Reason

OLDEST: Final = timedelta(hours=1)
"""The maximum age of a transfer when a request first names it. Source: the contract."""

IN_HAND: Final = timedelta(hours=2)
"""How long an authorisation in progress blocks a similar transfer; it may never be ended."""

_LONGEST_WAIT: Final = 60


@dataclass(frozen=True, slots=True)
class ProofCandidate:
    """A movement of the transaction in a listed token. `confirmations` count its own block.

    `is_final` says that its watcher recorded it as final, under `transfer_id`, `is_deep_enough` that its source calls it
    final, however few confirmations that takes. `is_awaited` says that it may be the transfer of a signed authorisation
    being settled for the same payer, which then pays that one's own request.
    """

    tx_hash: str
    position: int
    token: str
    token_is_accepted: bool
    units: int
    sender: str
    recipient: str
    block_height: int
    block_time: datetime
    confirmations: int
    is_used: bool
    transfer_id: int | None = None
    is_final: bool = False
    is_deep_enough: bool = False
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class ProofFacts:
    """The facts about the transaction. `pay_to` is an address of Florin at which this merchant is paid.

    `other_movements` says that it moved an unlisted token.
    """

    pay_to: str
    is_known: bool
    succeeded: bool
    candidates: Sequence[ProofCandidate]
    other_movements: bool = False


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """Either the candidate that pays, or the reason why none does; `retry_after` in seconds if that may change."""

    paid: ProofCandidate | None = None
    reason: Reason | None = None
    message: str = ""
    retry_after: int | None = None


NOT_FOUND: Final = ProofVerdict(
    reason=Reason.NOT_FOUND, message="Our nodes cannot find this transaction yet.", retry_after=5
)

AWAITED: Final = ProofVerdict(
    reason=Reason.NOT_CONFIRMED, message="A signed authorisation of this payer is being settled.", retry_after=5
)

UNVOUCHED: Final = ProofVerdict(
    reason=Reason.NOT_CONFIRMED,
    message="Payments of the last hour are a large sum: this one waits for a second node, or for finality too.",
    retry_after=10,
)

UNREAD: Final = ProofVerdict(
    reason=Reason.NOT_CONFIRMED, message="The connection closed before the payment was used: ask again.", retry_after=1
)

USED: Final = ProofVerdict(reason=Reason.ALREADY_USED, message="This payment is already used.")


def judge_claims(proof: Proof, wanted: Requirements, *, is_paid_there: bool) -> ProofVerdict | None:
    """Return the verdict on the request's own claims; None if the chain must be asked.

    `is_paid_there` says whether the merchant is paid at the payTo it names.
    """
    if proof.chain != wanted.chain:
        return _no(Reason.WRONG_CHAIN, f"The resource is paid on {wanted.chain}, not on {proof.chain}.")
    if proof.token != wanted.token:
        return _no(Reason.REQUIREMENTS_MISMATCH, f"The resource is paid in {wanted.token}.")
    if not is_paid_there:
        return _no(Reason.WRONG_RECIPIENT, "payTo is not an address of this merchant.")
    if proof.units < wanted.units:
        return _no(Reason.INSUFFICIENT_AMOUNT, "The amount is less than the resource costs.")
    return None


def judge(
    proof: Proof, wanted: Requirements, facts: ProofFacts, *, seen_at: datetime, block_seconds: float
) -> ProofVerdict:
    """Return the verdict on a transaction whose claims were checked. `seen_at` is when it was first named.

    Of several suitable movements, the first unused one pays: two halves are not one payment, and two equal ones are two.
    """
    if not facts.is_known:
        return NOT_FOUND
    if not facts.succeeded:
        return _no(Reason.FAILED_TRANSACTION, "The transaction failed on the chain.")
    arrived = [one for one in facts.candidates if one.recipient == facts.pay_to]
    if not arrived:
        wrong = Reason.WRONG_TOKEN if facts.other_movements else Reason.WRONG_RECIPIENT
        if facts.candidates:
            wrong = Reason.WRONG_RECIPIENT
        return _no(wrong, "The transaction paid nothing to payTo in a token we know.")
    in_token = [one for one in arrived if one.token == wanted.token and one.token_is_accepted]
    if not in_token:
        return _no(Reason.WRONG_TOKEN, f"What arrived at payTo is not {wanted.token}.")
    by_payer = [one for one in in_token if one.sender == proof.payer]
    if not by_payer:
        return _no(Reason.WRONG_PAYER, "The payer is not payerAddress.")
    enough = [one for one in by_payer if one.units >= max(wanted.units, proof.units)]
    if not enough:
        return _no(Reason.INSUFFICIENT_AMOUNT, "What arrived is less than was asked or claimed.")
    unused = [one for one in enough if not one.is_used]
    if not unused:
        return USED
    first = min(unused, key=lambda one: (one.position, one.tx_hash))
    return _when(first, proof, seen_at, block_seconds)


def _when(one: ProofCandidate, proof: Proof, seen_at: datetime, block_seconds: float) -> ProofVerdict:
    """Check the age and the depth of the movement that would pay."""
    if seen_at - one.block_time > OLDEST:
        return _no(Reason.TOO_OLD, "The payment is older than an hour.")
    if one.is_awaited:
        return AWAITED
    wanted = facts_of(proof.chain).x402_confirmations
    if one.confirmations < wanted and not one.is_deep_enough:
        lacking = wanted - max(one.confirmations, 0)
        wait = min(int(lacking * block_seconds) + 1, _LONGEST_WAIT)
        return ProofVerdict(
            reason=Reason.NOT_CONFIRMED, message=f"{one.confirmations} of {wanted} confirmations.", retry_after=wait
        )
    return ProofVerdict(paid=one)


def _no(reason: Reason, message: str) -> ProofVerdict:
    return ProofVerdict(reason=reason, message=message)
