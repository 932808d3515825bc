"""Verifying proofs by hash: asking the books, then the chain, and letting an insert decide who used a payment.

Two statements for a payment that a watcher has recorded; one question to a node more for one that it has not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson
from django.db import connection, transaction

from accounts.states import Mode
from facilitator import judging
from facilitator.errors import ProofUnknownError
from facilitator.inputs import VerifyRequest
from facilitator.judging import Candidate, Facts, Verdict
from facilitator.looking import facts_from_chain
from facilitator.payloads import invalid_payload, valid_payload
from facilitator.services.addresses import expect_machines, pay_to
from facilitator.services.answers import kept_answer
from facilitator.signatures import is_signed_by_payer
from facilitator.states import Protocol, Reason
from gateway.core.errors import UnavailableError
from gateway.core.ids import new_id
from gateway.core.money import from_units
from wallets.networks import chain_spec, is_accepted


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a key of a merchant, in a mode. `requires_signature` is the merchant's wish for proofs by hash."""

    merchant_id: int
    mode: Mode


def verify(
    caller: Caller, request: VerifyRequest, *, key: str, now: datetime
) -> dict[str, Any]:
    """Return the answer to `POST /x402/verify`, having used the payment up where it says `valid`.

    `key` is the Idempotency-Key, "" for none. Raises ConflictError where that was used for another body, and
    UnavailableError (chain_unavailable) where no node can tell: never "invalid" then.
    """
    if key and (answer := kept_answer(caller.merchant_id, caller.mode, key, request)):
        return answer
    verdict = _judge(caller, request, now=now)
    if verdict.paid is None:
        return invalid_payload(request.tx_hash, verdict)
    answer = _use(caller, request, verdict.paid, key=key, now=now)
    if answer is None:
        # Somebody else's insert was first: perhaps the same request, sent twice at once.
        if key and (kept := kept_answer(caller.merchant_id, caller.mode, key, request)):
            return kept
        return invalid_payload(request.tx_hash, _USED)
    return answer


_USED: Final = Verdict(
    reason=Reason.ALREADY_USED, message="This payment was used already."
)


def _judge(caller: Caller, request: VerifyRequest, *, now: datetime) -> Verdict:
    proof, wanted = request.proof, request.requirements
    if caller.mode == Mode.TEST and proof.tx_hash.startswith("fail_"):
        return _asked_for(proof.tx_hash)
    ours = pay_to(caller.merchant_id, caller.mode, proof.chain)
    if refusal := judging.judge_claims(proof, wanted, pay_to=ours):
        return refusal
    is_signed = is_signed_by_payer(proof, wanted)
    if is_signed is False:
        return Verdict(
            reason=Reason.WRONG_PAYER, message="The signature is not the payer's."
        )
    if caller.mode == Mode.TEST:
        return Verdict(paid=_simulated(request, now))
    recorded = _recorded(caller, request, str(ours), now)
    if is_signed is None and recorded.requires_signature:
        return Verdict(
            reason=Reason.WRONG_PAYER,
            message="This merchant wants payment.signature by the payer.",
        )
    facts = recorded.facts
    if not facts.is_known:
        facts = _ask_chain(request, facts)
    return judging.judge(proof, wanted, facts, seen_at=recorded.seen_at)


def _asked_for(tx_hash: str) -> Verdict:
    """Return the verdict that a test's hash names."""
    name = tx_hash.removeprefix("fail_")
    reason = Reason(name) if name in Reason.values else Reason.NOT_FOUND
    retry = 1 if reason in {Reason.NOT_FOUND, Reason.NOT_CONFIRMED} else None
    return Verdict(reason=reason, message="A test asked for this.", retry_after=retry)


def _simulated(request: VerifyRequest, now: datetime) -> Candidate:
    proof = request.proof
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
        confirmations=1,
        is_used=False,
    )


@dataclass(frozen=True, slots=True)
class _Recorded:
    facts: Facts
    seen_at: datetime
    requires_signature: bool


# The first request that names a transaction dates it, whatever it is answered.
_RECORDED: Final = """
    WITH seen AS (
        INSERT INTO facilitator_sighting AS s (merchant_id, chain, tx_hash, seen_at)
        VALUES (%(merchant)s, %(chain)s, %(tx_hash)s, %(now)s::timestamptz)
        ON CONFLICT (merchant_id, chain, tx_hash) DO UPDATE SET seen_at = s.seen_at
        RETURNING seen_at
    )
    SELECT seen.seen_at, COALESCE(m.requires_signature, FALSE), t.id, t.tx_hash, t.position, t.token, t.units::text,
           t.sender, t.recipient, t.block_height, t.block_time, t.state = 'confirmed', k.head,
           c.transfer_id IS NOT NULL OR p.id IS NOT NULL
    FROM seen
    LEFT JOIN facilitator_machinesettings m ON m.merchant_id = %(merchant)s
    LEFT JOIN wallets_transfer t ON t.chain = %(chain)s AND t.tx_hash = %(tx_hash)s AND t.recipient = %(pay_to)s
        AND t.merchant_id = %(merchant)s AND t.mode = 'live' AND t.purpose = 'x402' AND t.state <> 'orphaned'
    LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
    LEFT JOIN facilitator_x402payment p
        ON p.mode = 'live' AND p.chain = t.chain AND p.tx_hash = t.tx_hash AND p.position = t.position
    LEFT JOIN wallets_chaincursor k ON k.chain = %(chain)s
    ORDER BY t.position
"""


def _recorded(
    caller: Caller, request: VerifyRequest, ours: str, now: datetime
) -> _Recorded:
    """Return what the watcher wrote of the transaction, and when the merchant first asked about it."""
    proof = request.proof
    parameters: dict[str, Any] = {
        "merchant": caller.merchant_id,
        "chain": proof.chain,
        "tx_hash": proof.tx_hash,
        "pay_to": ours,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECORDED, parameters)
        rows = cursor.fetchall()
    candidates = [_candidate(proof.chain, row) for row in rows if row[2] is not None]
    facts = Facts(
        pay_to=ours,
        is_known=bool(candidates),
        succeeded=True,
        candidates=candidates,
        block_seconds=chain_spec(proof.chain).block_seconds,
    )
    return _Recorded(facts, seen_at=rows[0][0], requires_signature=rows[0][1])


def _candidate(chain: str, row: Sequence[Any]) -> Candidate:
    _, _, pk, tx_hash, position, token, units, sender, recipient, *rest = row
    height, block_time, is_final, head, is_used = rest
    depth = max((head or height) - height + 1, 1)
    return Candidate(
        tx_hash=tx_hash,
        position=position,
        token=token,
        token_is_accepted=is_accepted(chain, token),
        units=int(units),
        sender=sender,
        recipient=recipient,
        block_height=height,
        block_time=block_time,
        confirmations=max(depth, judging.CONFIRMATIONS[chain]) if is_final else depth,
        is_used=is_used,
        transfer_id=pk,
    )


def _ask_chain(request: VerifyRequest, facts: Facts) -> Facts:
    """Ask a node about what no watcher recorded. Raises UnavailableError."""
    try:
        told = facts_from_chain(request.proof.chain, request.proof.tx_hash)
    except ProofUnknownError as error:
        raise UnavailableError(
            f"{request.proof.chain} cannot be asked just now; the payment is not refused, ask again.",
            code="chain_unavailable",
        ) from error
    return replace(told, pay_to=facts.pay_to, block_seconds=facts.block_seconds)


# One statement: the payment's own key decides, and whoever inserts it also claims the transfer, owes the fee and keeps the
# answer. A transfer that something else claimed, or a key of somebody who was faster, undoes all of it.
_USE: Final = """
    WITH used AS (
        INSERT INTO facilitator_x402payment (
            public_id, merchant_id, mode, protocol, chain, tx_hash, position, token, units, required_units, payer, pay_to,
            is_signed, resource, status, block_height, block_time, verified_at, transfer_id)
        VALUES (
            %(public_id)s, %(merchant)s, %(mode)s, %(protocol)s, %(chain)s, %(tx_hash)s, %(position)s, %(token)s,
            %(units)s::numeric, %(required)s::numeric, %(payer)s, %(pay_to)s, %(is_signed)s, %(resource)s, 'verified',
            %(height)s, %(block_time)s::timestamptz, %(now)s::timestamptz, %(transfer)s::bigint)
        ON CONFLICT DO NOTHING
        RETURNING id
    ), claimed AS (
        INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
        SELECT %(transfer)s::bigint, 'x402', %(now)s::timestamptz FROM used WHERE %(transfer)s::bigint IS NOT NULL
    ), charged AS (
        INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, chain, token, received, rate, amount, charged_at)
        SELECT m.id, 'x402', %(public_id)s, %(chain)s, %(token)s, %(usd)s::numeric, m.fee_rate,
               round(%(usd)s::numeric * m.fee_rate, 2), %(now)s::timestamptz
        FROM used, accounts_merchant m WHERE m.id = %(merchant)s AND %(mode)s = 'live'
    ), kept AS (
        INSERT INTO facilitator_keptanswer (merchant_id, mode, key, digest, answer, created_at)
        SELECT %(merchant)s, %(mode)s, %(key)s, %(digest)s::bytea, %(answer)s::jsonb, %(now)s::timestamptz
        FROM used WHERE %(key)s <> ''
    )
    SELECT id FROM used
"""


def _use(
    caller: Caller, request: VerifyRequest, paid: Candidate, *, key: str, now: datetime
) -> dict[str, Any] | None:
    """Use a payment up, and return the answer that says so; None where it was used a moment ago."""
    public_id = new_id("x4p")
    answer = valid_payload(request.tx_hash, public_id, paid, now=now)
    parameters = _payment(caller, request, paid, now) | {
        "public_id": public_id,
        "key": key,
        "digest": request.digest,
        "answer": orjson.dumps(answer).decode(),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_USE, parameters)
        row = cursor.fetchone()
        if row is None:
            return None
        if caller.mode == Mode.LIVE and paid.transfer_id is None:
            # It is to be recorded soon: a payment that no watcher ever sees is none.
            expect_machines(caller.merchant_id, now=now)
    return answer


def _payment(
    caller: Caller, request: VerifyRequest, paid: Candidate, now: datetime
) -> dict[str, Any]:
    return {
        "merchant": caller.merchant_id,
        "mode": caller.mode,
        "protocol": Protocol.HASH,
        "chain": request.proof.chain,
        "tx_hash": paid.tx_hash,
        "position": paid.position,
        "token": paid.token,
        "units": paid.units,
        "required": request.requirements.units,
        "payer": paid.sender,
        "pay_to": paid.recipient,
        "is_signed": bool(request.proof.signature),
        "resource": request.requirements.resource,
        "height": paid.block_height,
        "block_time": paid.block_time,
        "now": now,
        "transfer": paid.transfer_id,
        "usd": from_units(paid.units),
    }
