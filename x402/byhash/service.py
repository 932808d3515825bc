"""Verifies proofs by hash: checks our records, then the chain; an insert decides who used a payment."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db import connection

from accounts.states import Mode
from gateway.core.api.errors import UnavailableError
from gateway.core.api.rate_limits import Limit, hit
from wallets.chains.registry import facts_of
from wallets.networks import chain_spec, takes_from_machines
from x402 import rules
from x402.byhash.facts import ProofUnknownError, facts_from_chain
from x402.byhash.forms import is_signed_by_payer
from x402.inputs import FAILING, Proof, VerifyRequest
from x402.payloads import invalid_payload
from x402.payments.addresses import expect_machines, is_paid_at
from x402.payments.claims import Caller, kept_answer, note_unread, read_records, take_unread, use_recorded, use_up
from x402.payments.large import awaits_second_node
from x402.rules import ProofCandidate, ProofFacts, ProofVerdict
from x402.states import Reason

__all__ = ["Caller", "verify"]

PER_DAY: Final = Limit("x402.sightings", 10_000, seconds=86_400)
"""How many sightings are stored per merchant and day: strangers can make a merchant ask about any hash."""

_NOTE: Final = """
    INSERT INTO x402_sighting (merchant_id, chain, tx_hash, seen_at)
    VALUES (%(merchant)s, %(chain)s, %(tx_hash)s, %(now)s::timestamptz)
    ON CONFLICT (merchant_id, chain, tx_hash) DO NOTHING
"""

_MAY_CHANGE: Final = frozenset({Reason.NOT_FOUND, Reason.NOT_CONFIRMED})


def note_sighting(merchant_id: int, proof: Proof, *, now: datetime) -> None:
    """Store when a merchant first asked about a transaction; later calls change nothing."""
    if hit(PER_DAY, str(merchant_id), now=now.timestamp()).exceeded:
        return
    parameters: dict[str, Any] = {"merchant": merchant_id, "chain": proof.chain, "tx_hash": proof.tx_hash, "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, parameters)


def asked_for(proof: Proof) -> ProofVerdict | None:
    """Return the verdict that a test's hash names; None if it names none."""
    if not proof.tx_hash.startswith(FAILING):
        return None
    reason = Reason(proof.tx_hash.removeprefix(FAILING))
    retry = 1 if reason in _MAY_CHANGE else None
    return ProofVerdict(reason=reason, message="A test asked for this.", retry_after=retry)


def simulated(proof: Proof, *, now: datetime) -> ProofCandidate:
    """Return the chain's answer as if the claimed payment had been made."""
    return ProofCandidate(
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


def verify(
    caller: Caller,
    request: VerifyRequest,
    *,
    now: datetime,
    watch: Callable[[], None] = lambda: None,
    is_gone: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Return the response of `POST /x402/verify`, having used up the payment if it says `valid`.

    `watch` is called before it takes long; `is_gone` then says whether nobody will read it. Then nothing is used up, or the same
    request gets it once more.
    Raises ConflictError where the Idempotency-Key was used for another body, and UnavailableError (chain_unavailable) if no
    node answers: never "invalid" then, or an honest payer would pay twice.
    """
    answer = _verify(caller, request, watch, is_gone, now=now)
    # With a key, each repetition gets it.
    if answer["valid"] and not caller.key and is_gone():
        note_unread(answer["paymentId"], request)
    return answer


def _verify(
    caller: Caller, request: VerifyRequest, watch: Callable[[], None], is_gone: Callable[[], bool], *, now: datetime
) -> dict[str, Any]:
    refusal = _judge_claims(caller, request, now=now)
    # The most frequent case costs one statement.
    if refusal is None and (answer := use_recorded(caller, request, now=now)):
        return answer
    if answer := kept_answer(caller, request):
        return answer
    watch()
    verdict = refusal or _judge(caller, request, now=now)
    if verdict.paid is not None and is_gone():
        # The seller's process may have ended, and with it the only record of its key.
        verdict = rules.UNREAD
    if verdict.paid is not None:
        if answer := use_up(caller, request, verdict.paid, now=now):
            return answer
        verdict = _unused(caller, request, verdict.paid, now=now)
    # Possibly used by this very request, sent twice at once.
    if verdict.reason is Reason.ALREADY_USED:
        kept = kept_answer(caller, request)
        if kept is None and not is_gone():
            kept = take_unread(caller, request, now=now)
        if kept is not None:
            return kept
    return invalid_payload(request.proof.tx_hash, verdict)


def _unused(caller: Caller, request: VerifyRequest, paid: ProofCandidate, *, now: datetime) -> ProofVerdict:
    """Return why a payment that was judged to pay was not used up."""
    merchant, mode = caller.merchant_id, caller.mode
    if not awaits_second_node(merchant, mode, request, paid, now):
        return rules.USED
    # It may wait for longer than a proof may be old when it is first named.
    note_sighting(merchant, request.proof, now=now)
    return rules.UNVOUCHED


def _judge_claims(caller: Caller, request: VerifyRequest, *, now: datetime) -> ProofVerdict | None:
    """Return the verdict on the request's own claims, its signature included; None if it must be looked up."""
    proof, wanted = request.proof, request.requirements
    if caller.mode == Mode.TEST and (asked := asked_for(proof)):
        return asked
    is_paid_there = is_paid_at(caller.merchant_id, caller.mode, proof.chain, proof.pay_to, now=now)
    if refusal := rules.judge_claims(proof, wanted, is_paid_there=is_paid_there):
        return refusal
    if is_signed_by_payer(proof, wanted) is False:
        return _wrong_payer("The signature is not the payer's over this payment.")
    if not takes_from_machines(proof.chain, proof.token):
        return ProofVerdict(reason=Reason.WRONG_TOKEN, message="This token is not accepted on this chain.")
    return None


def _wrong_payer(message: str) -> ProofVerdict:
    return ProofVerdict(reason=Reason.WRONG_PAYER, message=message)


def _judge(caller: Caller, request: VerifyRequest, *, now: datetime) -> ProofVerdict:
    """Return the verdict on a request with valid claims."""
    proof, merchant = request.proof, caller.merchant_id
    if caller.mode == Mode.TEST:
        return ProofVerdict(paid=simulated(proof, now=now))
    books = read_records(merchant, proof, now=now)

    def note() -> None:
        if books.seen_at is None:
            note_sighting(merchant, proof, now=now)
            expect_machines(merchant, now=now)

    # A signature that is not the payer's was refused before.
    if books.requires_signature and not proof.signature:
        note()
        return _wrong_payer("This merchant wants payment.signature by the payer.")
    facts = books.facts
    if not facts.is_known:
        # The sighting is stored whatever the chain answers: nodes may fail, and the payment ages meanwhile.
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
    # The chain may have grown since its watcher read it.
    with suppress(UnavailableError):
        newer = judge(_ask_chain(merchant, proof, now, meanwhile=note))
        # A lagging node must not reduce what is known.
        if newer.paid is not None or newer.reason is verdict.reason:
            return newer
    return verdict


def _ask_chain(merchant_id: int, proof: Proof, now: datetime, *, meanwhile: Callable[[], None]) -> ProofFacts:
    """Ask a node about an unrecorded transaction. Raises UnavailableError."""
    try:
        return facts_from_chain(proof, merchant_id=merchant_id, now=now, meanwhile=meanwhile)
    except ProofUnknownError as error:
        raise UnavailableError(
            f"{proof.chain} cannot be asked just now; the payment is not refused, ask again.", code="chain_unavailable"
        ) from error
