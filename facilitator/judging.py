"""Whether a proof by hash pays for a resource: facts in, a verdict out. Pure.

Nothing that the request claims is believed. What counts is what the chain's own records say of the transaction, and where the
merchant is paid according to our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from facilitator.inputs import Proof, Requirements
from facilitator.states import Reason

OLDEST: Final = timedelta(hours=1)
"""A transfer must be younger when a request first names it. Source: the contract."""

CONFIRMATIONS: Final = MappingProxyType(
    {"polygon": 3, "base": 3, "ethereum": 3, "tron": 3, "ton": 1, "solana": 1}
)
"""How deep a payment must be to buy something small at once, its own block counted (the specification's table of times).

Its finality is watched afterwards.
"""

_NOT_FOUND_AGAIN: Final = 5
_LONGEST_WAIT: Final = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A movement of the transaction in a listed token. `confirmations` count its own block."""

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


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the transaction. `pay_to` is ours for this merchant and chain; None where it has none.

    `other_movements` says that it moved something that is no listed token. `known_elsewhere` that another chain has it.
    """

    pay_to: str | None
    is_known: bool
    succeeded: bool
    candidates: Sequence[Candidate]
    other_movements: bool = False
    known_elsewhere: bool = False
    block_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Either the candidate that pays, or the reason why none does; `retry_after` in seconds where that may change."""

    paid: Candidate | None = None
    reason: Reason | None = None
    message: str = ""
    retry_after: int | None = None


def judge_claims(
    proof: Proof, wanted: Requirements, *, pay_to: str | None
) -> Verdict | None:
    """Return the verdict on what the request says by itself; None where the chain must be asked."""
    if proof.chain != wanted.chain:
        return _no(
            Reason.WRONG_CHAIN,
            f"The resource is paid on {wanted.chain}, not on {proof.chain}.",
        )
    if proof.token != wanted.token:
        return _no(
            Reason.REQUIREMENTS_MISMATCH, f"The resource is paid in {wanted.token}."
        )
    if pay_to is None or proof.pay_to != pay_to:
        return _no(Reason.WRONG_RECIPIENT, "payTo is not where this merchant is paid.")
    if proof.units < wanted.units:
        return _no(
            Reason.INSUFFICIENT_AMOUNT, "The amount is less than the resource costs."
        )
    return None


def judge(
    proof: Proof, wanted: Requirements, facts: Facts, *, seen_at: datetime
) -> Verdict:
    """Return the verdict on a transaction whose claims were judged already.

    Of several movements that would do the first unused one pays: two halves are not one payment, and two equal ones are two.
    """
    if not facts.is_known:
        return _unknown(facts)
    if not facts.succeeded:
        return _no(Reason.FAILED_TRANSACTION, "The transaction failed on the chain.")
    arrived = [one for one in facts.candidates if one.recipient == facts.pay_to]
    if not arrived:
        wrong = Reason.WRONG_TOKEN if facts.other_movements else Reason.WRONG_RECIPIENT
        if facts.candidates:
            wrong = Reason.WRONG_RECIPIENT
        return _no(wrong, "The transaction paid nothing to payTo in a token we know.")
    in_token = [
        one for one in arrived if one.token == wanted.token and one.token_is_accepted
    ]
    if not in_token:
        return _no(Reason.WRONG_TOKEN, f"What arrived at payTo is not {wanted.token}.")
    by_payer = [one for one in in_token if one.sender == proof.payer]
    if not by_payer:
        return _no(Reason.WRONG_PAYER, "Somebody else than payerAddress paid.")
    enough = [one for one in by_payer if one.units >= max(wanted.units, proof.units)]
    if not enough:
        return _no(
            Reason.INSUFFICIENT_AMOUNT,
            "What arrived is less than was asked or claimed.",
        )
    unused = [one for one in enough if not one.is_used]
    if not unused:
        return _no(Reason.ALREADY_USED, "This payment was used already.")
    return _when(min(unused, key=lambda one: one.position), facts, proof, seen_at)


def _when(one: Candidate, facts: Facts, proof: Proof, seen_at: datetime) -> Verdict:
    """Judge the age and the depth of the movement that would pay."""
    if seen_at - one.block_time > OLDEST:
        return _no(Reason.TOO_OLD, "The payment is older than an hour.")
    wanted = CONFIRMATIONS[proof.chain]
    if one.confirmations < wanted:
        lacking = wanted - max(one.confirmations, 0)
        wait = min(int(lacking * facts.block_seconds) + 1, _LONGEST_WAIT)
        return Verdict(
            reason=Reason.NOT_CONFIRMED,
            message=f"{one.confirmations} of {wanted} confirmations.",
            retry_after=wait,
        )
    return Verdict(paid=one)


def _unknown(facts: Facts) -> Verdict:
    if facts.known_elsewhere:
        return _no(Reason.WRONG_CHAIN, "The transaction is on another chain.")
    return Verdict(
        reason=Reason.NOT_FOUND,
        message="No node of ours knows the transaction yet.",
        retry_after=_NOT_FOUND_AGAIN,
    )


def _no(reason: Reason, message: str) -> Verdict:
    return Verdict(reason=reason, message=message)
