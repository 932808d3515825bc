"""Verifying proofs by hash: asking the books, then the chain, and letting an insert decide who used a payment.

A payment that its watcher has recorded is decided by our own database; for one that it has not a node is asked as well.
"""

from datetime import datetime
from typing import Any

from accounts.states import Mode
from facilitator import judging
from facilitator.errors import ProofUnknownError
from facilitator.inputs import VerifyRequest
from facilitator.judging import Facts, Verdict
from facilitator.looking import facts_from_chain
from facilitator.payloads import invalid_payload
from facilitator.services.addresses import expect_machines, is_paid_at
from facilitator.services.answers import kept_answer
from facilitator.services.books import note_sighting, read_books
from facilitator.services.simulating import asked_for, simulated
from facilitator.services.using import Caller, use_up
from facilitator.signatures import is_signed_by_payer
from facilitator.states import Reason
from gateway.core.errors import UnavailableError
from wallets.networks import chain_spec

__all__ = ["Caller", "verify"]


def verify(caller: Caller, request: VerifyRequest, *, now: datetime) -> dict[str, Any]:
    """Return the answer to `POST /x402/verify`, having used the payment up where it says `valid`.

    Raises ConflictError where the Idempotency-Key was used for another body, and UnavailableError (chain_unavailable) where
    no node can tell: never "invalid" then, which would have an honest payer pay twice.
    """
    if answer := kept_answer(caller, request):
        return answer
    verdict = _judge(caller, request, now=now)
    if verdict.paid is not None:
        if answer := use_up(caller, request, verdict.paid, now=now):
            return answer
        verdict = judging.USED
    # Used perhaps by this very request, sent twice at once.
    if verdict.reason is Reason.ALREADY_USED and (kept := kept_answer(caller, request)):
        return kept
    return invalid_payload(request.tx_hash, verdict)


def _judge(caller: Caller, request: VerifyRequest, *, now: datetime) -> Verdict:
    proof, wanted = request.proof, request.requirements
    is_test = caller.mode == Mode.TEST
    if is_test and (asked := asked_for(proof)):
        return asked
    is_paid_there = is_paid_at(
        caller.merchant_id, caller.mode, proof.chain, proof.pay_to, now=now
    )
    if refusal := judging.judge_claims(proof, wanted, is_paid_there=is_paid_there):
        return refusal
    is_signed = is_signed_by_payer(proof, wanted)
    if is_signed is False:
        return _wrong_payer("The signature is not the payer's over this payment.")
    if is_test:
        return Verdict(paid=simulated(proof, now=now))
    return _judge_live(caller, request, is_signed=is_signed is True, now=now)


def _wrong_payer(message: str) -> Verdict:
    return Verdict(reason=Reason.WRONG_PAYER, message=message)


def _judge_live(
    caller: Caller, request: VerifyRequest, *, is_signed: bool, now: datetime
) -> Verdict:
    proof, merchant = request.proof, caller.merchant_id
    books = read_books(merchant, proof, now=now)
    facts = books.facts
    if books.seen_at is None and not facts.is_known:
        # Before the chain is asked: that may fail, and the payment grow older meanwhile.
        note_sighting(merchant, proof, now=now)
        expect_machines(merchant, now=now)
    if books.requires_signature and not is_signed:
        return _wrong_payer("This merchant wants payment.signature by the payer.")
    if not facts.is_known:
        facts = _ask_chain(merchant, request, now)
    verdict = judging.judge(
        proof,
        request.requirements,
        facts,
        seen_at=books.seen_at or now,
        block_seconds=chain_spec(proof.chain).block_seconds,
    )
    if verdict.retry_after is not None and books.seen_at is None:
        note_sighting(merchant, proof, now=now)
    return verdict


def _ask_chain(merchant_id: int, request: VerifyRequest, now: datetime) -> Facts:
    """Ask a node about what no watcher recorded. Raises UnavailableError."""
    proof = request.proof
    try:
        return facts_from_chain(proof, merchant_id=merchant_id, now=now)
    except ProofUnknownError as error:
        raise UnavailableError(
            f"{proof.chain} cannot be asked just now; the payment is not refused, ask again.",
            code="chain_unavailable",
        ) from error
