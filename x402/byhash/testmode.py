"""Test mode: no chain is asked, and a hash may name the reason for its refusal."""

from datetime import datetime
from typing import Final

from wallets.chains.registry import facts_of
from x402.inputs import FAILING, Proof
from x402.rules import Candidate, Verdict
from x402.states import Reason

_MAY_CHANGE: Final = frozenset({Reason.NOT_FOUND, Reason.NOT_CONFIRMED})


def asked_for(proof: Proof) -> Verdict | None:
    """Return the verdict that a test's hash names; None if it names none."""
    if not proof.tx_hash.startswith(FAILING):
        return None
    reason = Reason(proof.tx_hash.removeprefix(FAILING))
    retry = 1 if reason in _MAY_CHANGE else None
    return Verdict(reason=reason, message="A test asked for this.", retry_after=retry)


def simulated(proof: Proof, *, now: datetime) -> Candidate:
    """Return the chain's answer as if the claimed payment had been made."""
    return Candidate(
        tx_hash=proof.tx_hash,
        position=0,
        token=proof.token,
        token_is_accepted=True,
        units=proof.units,
        sender=proof.payer,
        recipient=proof.pay_to,
        block_height=0,
        block_time=now,
        confirmations=facts_of(proof.chain).x402_confirmations,
        is_used=False,
    )
