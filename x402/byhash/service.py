"""Verifying proofs by hash: asking the books, then the chain, and letting an insert decide who used a payment.

A payment that its watcher has recorded is decided by our own database; for one that it has not a node is asked as well.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from accounts.states import Mode
from gateway.core.api.errors import UnavailableError
from wallets.networks import chain_spec, is_accepted
from x402 import rules
from x402.byhash.facts import facts_from_chain
from x402.byhash.sightings import note_sighting
from x402.byhash.signatures import is_signed_by_payer
from x402.byhash.testmode import (
    asked_for,
    simulated,
)
from x402.errors import ProofUnknownError
from x402.inputs import Proof, VerifyRequest
from x402.payloads import invalid_payload
from x402.payments.addresses import (
    expect_machines,
    is_paid_at,
)
from x402.payments.answers import kept_answer
from x402.payments.books import read_books
from x402.payments.claims import (
    Caller,
    use_recorded,
    use_up,
)
from x402.rules import (
    Facts,
    Verdict,
)
from x402.states import Reason

__all__ = ["Caller", "verify"]


def verify(caller: Caller, request: VerifyRequest, *, now: datetime) -> dict[str, Any]:
    """Return the answer to `POST /x402/verify`, having used the payment up where it says `valid`.

    Raises ConflictError where the Idempotency-Key was used for another body, and UnavailableError (chain_unavailable) where
    no node can tell: never "invalid" then, which would have an honest payer pay twice.
    """
    refusal = _judge_claims(caller, request, now=now)
    # What happens most costs one statement.
    if refusal is None and (answer := use_recorded(caller, request, now=now)):
        return answer
    if answer := kept_answer(caller, request):
        return answer
    verdict = refusal or _judge(caller, request, now=now)
    if verdict.paid is not None:
        if answer := use_up(caller, request, verdict.paid, now=now):
            return answer
        verdict = rules.USED
    # Used perhaps by this very request, sent twice at once.
    if verdict.reason is Reason.ALREADY_USED and (kept := kept_answer(caller, request)):
        return kept
    return invalid_payload(request.proof.tx_hash, verdict)


def _judge_claims(
    caller: Caller, request: VerifyRequest, *, now: datetime
) -> Verdict | None:
    """Return the verdict on what the request says by itself, its signature included; None where it must be looked up."""
    proof, wanted = request.proof, request.requirements
    if caller.mode == Mode.TEST and (asked := asked_for(proof)):
        return asked
    is_paid_there = is_paid_at(
        caller.merchant_id, caller.mode, proof.chain, proof.pay_to, now=now
    )
    if refusal := rules.judge_claims(proof, wanted, is_paid_there=is_paid_there):
        return refusal
    if is_signed_by_payer(proof, wanted) is False:
        return _wrong_payer("The signature is not the payer's over this payment.")
    if not is_accepted(proof.chain, proof.token):
        return Verdict(
            reason=Reason.WRONG_TOKEN,
            message="This token is not accepted on this chain.",
        )
    return None


def _wrong_payer(message: str) -> Verdict:
    return Verdict(reason=Reason.WRONG_PAYER, message=message)


def _judge(caller: Caller, request: VerifyRequest, *, now: datetime) -> Verdict:
    """Return the verdict on a request whose own claims hold."""
    proof, merchant = request.proof, caller.merchant_id
    if caller.mode == Mode.TEST:
        return Verdict(paid=simulated(proof, now=now))
    books = read_books(merchant, proof, now=now)

    def note() -> None:
        if books.seen_at is None:
            note_sighting(merchant, proof, now=now)
            expect_machines(merchant, now=now)

    # One that is not the payer's was refused already.
    if books.requires_signature and not proof.signature:
        note()
        return _wrong_payer("This merchant wants payment.signature by the payer.")
    facts = books.facts
    if not facts.is_known:
        # Noted whatever the chain answers: that may fail, and the payment grow older meanwhile.
        facts = _ask_chain(merchant, proof, now, meanwhile=note)
    judge = partial(
        rules.judge,
        proof,
        request.requirements,
        seen_at=books.seen_at or now,
        block_seconds=chain_spec(proof.chain).block_seconds,
    )
    verdict = judge(facts)
    if verdict.retry_after is None or not books.facts.is_known:
        return verdict
    if verdict is rules.AWAITED:
        note()
        return verdict
    # The chain may have grown since its watcher looked.
    with suppress(UnavailableError):
        newer = judge(_ask_chain(merchant, proof, now, meanwhile=note))
        # A node that is behind is no reason to say less than is known.
        if newer.paid is not None or newer.reason is verdict.reason:
            return newer
    return verdict


def _ask_chain(
    merchant_id: int, proof: Proof, now: datetime, *, meanwhile: Callable[[], None]
) -> Facts:
    """Ask a node about what no watcher recorded. Raises UnavailableError."""
    try:
        return facts_from_chain(
            proof, merchant_id=merchant_id, now=now, meanwhile=meanwhile
        )
    except ProofUnknownError as error:
        raise UnavailableError(
            f"{proof.chain} cannot be asked just now; the payment is not refused, ask again.",
            code="chain_unavailable",
        ) from error
