"""Uses payments up: one insert decides which request gets it, records the fee and keeps the response.

Responses are kept under an Idempotency-Key, or because the client had closed its connection: a repeated request gets the same one,
and costs the payer no other payment.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
import structlog
from django.db import IntegrityError, connection, transaction

from accounts.fees.service import fee_parameters, insert_fees
from accounts.keys.idempotency import forget_answers, refuse_another
from accounts.states import Mode
from gateway.core.currencies import USD
from gateway.core.ids import new_id
from gateway.core.money import from_units
from rates.selectors import rate_now
from wallets.chains.registry import facts_of
from wallets.networks import chain_spec, takes_from_machines
from wallets.states import ClaimKind, TransferUse
from wallets.transfers.doubts import DOUBTED
from wallets.transfers.service import insert_claims
from x402.heads import FRESH_SECONDS, HEADS, WATCHED_SECONDS
from x402.inputs import Proof, VerifyRequest
from x402.models import KeptAnswer, Sighting, X402Payment
from x402.payloads import valid_payload
from x402.payments.addresses import settles_directly
from x402.payments.large import IS_BELIEVED, ask_early, is_limited, limits_for, turn_of_seller
from x402.rules import IN_HAND, OLDEST, ProofCandidate, ProofFacts
from x402.states import PaymentStatus, Protocol

log = structlog.get_logger(__name__)

KEPT: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ProofRecords:
    """Our records about a proof. `facts` know the transaction only if a watcher recorded it.

    `seen_at` is None if nobody named the transaction before.
    """

    facts: ProofFacts
    seen_at: datetime | None
    requires_signature: bool


IS_RECORDED: Final = f"""
    t.chain = %(chain)s AND t.tx_hash = %(tx_hash)s AND t.recipient = %(pay_to)s
    AND t.merchant_id = %(merchant)s AND t.mode = 'live' AND t.purpose = 'x402' AND NOT COALESCE({DOUBTED}, FALSE)
"""
"""SQL condition: the transfer `t` is of the transaction and paid the merchant's machines at `pay_to`, whatever its state.

The cursor `k` is its chain's: a halted chain may have lost what was recorded of it, so that only a node knows.
"""


IS_AWAITED: Final = """
    EXISTS (
        SELECT FROM x402_authorization a
        WHERE a.mode = 'live' AND a.chain = t.chain AND a.token = t.token AND a.payer = t.sender
          AND a.pay_to = t.recipient AND a.units = t.units
          AND (a.state = 'sent' OR a.state = 'taken' AND a.taken_until >= %(now)s::timestamptz)
          AND a.created_at > %(now)s::timestamptz - %(in_hand)s)
"""
"""SQL condition: `t` may be the transfer of an authorisation being settled for the same payer."""


_READ: Final = f"""
    SELECT s.seen_at, COALESCE(m.requires_signature, FALSE), t.id, t.tx_hash, t.position, t.token, t.units::text,
           t.sender, t.recipient, t.block_height, t.block_time, t.state = 'confirmed', k.head,
           c.transfer_id IS NOT NULL OR p.id IS NOT NULL,
           {IS_AWAITED}
    FROM (VALUES (1)) AS one
    LEFT JOIN x402_machinesettings m ON m.merchant_id = %(merchant)s
    LEFT JOIN x402_sighting s
        ON s.merchant_id = %(merchant)s AND s.chain = %(chain)s AND s.tx_hash = %(tx_hash)s
    LEFT JOIN wallets_chaincursor k ON k.chain = %(chain)s
    LEFT JOIN wallets_transfer t ON {IS_RECORDED} AND t.state <> 'orphaned'
    LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
    LEFT JOIN x402_payment p
        ON p.mode = 'live' AND p.chain = t.chain AND p.tx_hash = t.tx_hash AND p.position = t.position
"""  # noqa: S608 - only our own text is put in


def read_records(merchant_id: int, proof: Proof, *, now: datetime) -> ProofRecords:
    """Return our records about a proof, in one statement. Its payTo is known to be the merchant's."""
    parameters: dict[str, Any] = {
        "merchant": merchant_id,
        "chain": proof.chain,
        "tx_hash": proof.tx_hash,
        "pay_to": proof.pay_to,
        "in_hand": IN_HAND,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, parameters)
        rows = cursor.fetchall()
    candidates = [_candidate(proof.chain, row) for row in rows if row[2] is not None]
    facts = ProofFacts(pay_to=proof.pay_to, is_known=bool(candidates), succeeded=True, candidates=candidates)
    return ProofRecords(facts, seen_at=rows[0][0], requires_signature=rows[0][1])


_AWAITS: Final = f"""
    SELECT EXISTS (
        SELECT FROM wallets_transfer t JOIN wallets_transferclaim c ON c.transfer_id = t.id
        WHERE t.id = ANY(%(ids)b::bigint[]) AND c.kind = '{TransferUse.REFUND}' AND (
            {IS_AWAITED} OR EXISTS (
                SELECT FROM x402_payment p
                WHERE p.mode = 'live' AND p.chain = t.chain AND p.tx_hash = t.tx_hash AND p.pay_to = t.recipient
                  AND p.token = t.token AND p.transfer_id IS NULL AND p.status <> 'reversed')))
"""  # noqa: S608 - only our own text is put in


def awaits_payment(transfer_ids: Collection[int], *, now: datetime) -> bool:
    """Return whether one of some transfers that are claimed for a refund is about to be a machine's payment.

    A payment was verified on a node's word before its transfer was recorded, or a signed authorisation is being settled.
    """
    parameters: dict[str, Any] = {"ids": list(transfer_ids), "now": now, "in_hand": IN_HAND}
    with connection.cursor() as cursor:
        cursor.execute(_AWAITS, parameters)
        return bool(cursor.fetchone()[0])


def _candidate(chain: str, row: Sequence[Any]) -> ProofCandidate:
    _, _, pk, tx_hash, position, token, units, sender, recipient, *rest = row
    height, block_time, is_final, head, is_used, is_awaited = rest
    depth = max((head or height) - height + 1, 1)
    return ProofCandidate(
        tx_hash=tx_hash,
        position=position,
        token=token,
        token_is_accepted=takes_from_machines(chain, token),
        units=int(units),
        sender=sender,
        recipient=recipient,
        block_height=height,
        block_time=block_time,
        confirmations=depth,
        is_used=is_used,
        transfer_id=pk,
        is_final=is_final,
        is_deep_enough=is_final,
        is_awaited=is_awaited,
    )


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a merchant's key, in a mode. `key` is the request's Idempotency-Key, "" for none."""

    merchant_id: int
    mode: Mode
    key: str = ""


# The paying transfer: one that was judged already, or the first recorded one that is deep enough and free of objections.
_JUDGED: Final = """
    SELECT %(tx_hash)s::text AS tx_hash, %(position)s::int AS position, %(units)s::numeric AS units,
           %(height)s::bigint AS block_height, %(block_time)s::timestamptz AS block_time, %(is_final)s::boolean AS is_final,
           %(transfer)s::bigint AS transfer_id, %(confirmations)s::bigint AS confirmations,
           (SELECT v.witnessed_at FROM wallets_transfer v WHERE v.id = %(transfer)s::bigint) AS witnessed_at
"""


_RECORDED: Final = f"""
    SELECT t.tx_hash, t.position, t.units, t.block_height, t.block_time, t.state = 'confirmed' AS is_final,
           t.id AS transfer_id, t.witnessed_at,
           GREATEST(k.head - t.block_height + 1, 1) AS confirmations
    FROM wallets_transfer t LEFT JOIN wallets_chaincursor k ON k.chain = t.chain
    WHERE {IS_RECORDED} AND t.token = %(token)s AND t.sender = %(payer)s
      AND (t.state = 'confirmed' OR t.state = 'detected' AND k.head - t.block_height + 1 >= %(enough)s::bigint)
      AND t.units >= %(least)s::numeric AND t.block_time >= %(now)s::timestamptz - %(oldest)s AND NOT {IS_AWAITED}
      AND (%(is_signed)s::boolean OR NOT EXISTS (
          SELECT FROM x402_machinesettings m WHERE m.merchant_id = %(merchant)s AND m.requires_signature))
    ORDER BY t.position LIMIT 1
"""  # noqa: S608 - only our own text is put in


# One statement: the payment's key decides, and the winner's insert also claims the transfer, records the fee and keeps the
# response. If the transfer is claimed, or a response kept, by another, all of it rolls back.
_USE: Final = """
    WITH paid AS ({paid}), used AS (
        INSERT INTO x402_payment (
            public_id, merchant_id, mode, protocol, chain, tx_hash, position, token, units, required_units, payer, pay_to,
            is_signed, resource, status, block_height, block_time, verified_at, final_at, settled_at, transfer_id,
            witnessed_at)
        SELECT %(public_id)s::text, %(merchant)s::bigint, %(mode)s::text, %(protocol)s::text, %(chain)s::text,
               paid.tx_hash, paid.position, %(token)s::text, paid.units, %(required)s::numeric, %(payer)s::text,
               %(pay_to)s::text, %(is_signed)s::boolean, %(resource)s::text,
               CASE WHEN paid.is_final THEN %(final_status)s::text ELSE 'verified' END, paid.block_height, paid.block_time,
               %(now)s::timestamptz, CASE WHEN paid.is_final THEN %(now)s::timestamptz END,
               CASE WHEN paid.is_final THEN %(settled_at)s::timestamptz END, paid.transfer_id, paid.witnessed_at
        FROM paid WHERE {believed}
        ON CONFLICT DO NOTHING
        RETURNING id
    ), claimed AS (
        {claim}
    ), charged AS (
        {fee}
    ), kept AS (
        INSERT INTO x402_keptanswer (merchant_id, mode, key, digest, answer, created_at)
        SELECT %(merchant)s::bigint, %(mode)s::text, %(key)s::text, %(digest)s::bytea,
               %(answer)s::jsonb || jsonb_build_object('confirmations', paid.confirmations), %(now)s::timestamptz
        FROM used, paid WHERE %(key)s::text <> ''
    )
    SELECT paid.confirmations, paid.block_height, k.head_at, paid.transfer_id, paid.units, paid.witnessed_at
    FROM used, paid LEFT JOIN wallets_chaincursor k ON k.chain = %(chain)s::text
"""


_CLAIM: Final = insert_claims(
    transfer="paid.transfer_id",
    kind=ClaimKind.X402,
    now="%(now)s::timestamptz",
    source="used, paid WHERE paid.transfer_id IS NOT NULL",
)


# Rounded as `gateway.core.currencies.usd_units_at` does.
_CHARGE: Final = insert_fees("""
    SELECT %(merchant)s::bigint AS merchant_id, 'x402' AS kind, %(public_id)s::text AS subject_id, %(chain)s::text AS chain,
           %(token)s::text AS token, trunc(paid.units * %(usd_rate)s::numeric) * 0.000001 AS received
    FROM used, paid WHERE %(mode)s::text = 'live' AND %(usd_rate)s::numeric IS NOT NULL
""")


def usd_rate(chain: str, token: str, units: int, *, now: datetime) -> Decimal | None:
    """Return USD for one of a token that machines paid so many base units of; None if it is of another currency without a rate now.

    Only fees need it: what a resource costs and what is paid are in tokens. A payment without a rate has no fee.
    """
    peg = chain_spec(chain).tokens[token].peg
    return Decimal(1) if peg == USD else rate_now(peg, from_units(units), now=now)


def _statements(paid: str) -> dict[bool, str]:
    """Return the statement with and without sums to add up: with them PostgreSQL plans it anew each time."""
    believed = {True: IS_BELIEVED, False: "TRUE"}
    return {
        limited: _USE.format(paid=paid, believed=sql, claim=_CLAIM, fee=_CHARGE) for limited, sql in believed.items()
    }


_USE_JUDGED: Final = _statements(_JUDGED)


_USE_RECORDED: Final = _statements(_RECORDED)


def use_recorded(caller: Caller, request: VerifyRequest, *, now: datetime) -> dict[str, Any] | None:
    """Use up a payment that its watcher recorded, if nothing speaks against it; return the valid response.

    None only means that a closer look is needed. The request's claims and signature were checked before. The verdict is
    that of `x402.rules.judge` but for one case: `judge` waits when another transfer of the transaction is expected.
    """
    proof, wanted = request.proof, request.requirements
    if caller.mode == Mode.TEST or not takes_from_machines(proof.chain, wanted.token):
        return None
    parameters = {
        "tx_hash": proof.tx_hash,
        "least": max(proof.units, wanted.units),
        "oldest": OLDEST,
        "in_hand": IN_HAND,
        "enough": facts_of(proof.chain).x402_confirmations,
    }
    return _use(_USE_RECORDED, caller, request, parameters, now)


def use_up(caller: Caller, request: VerifyRequest, paid: ProofCandidate, *, now: datetime) -> dict[str, Any] | None:
    """Use up a payment that was judged to pay, and return the valid response; None if another request was faster.

    The other request has the same payment, or the same Idempotency-Key. None also for a part of a large sum that waits.
    """
    parameters = {
        "tx_hash": paid.tx_hash,
        "position": paid.position,
        "units": paid.units,
        "height": paid.block_height,
        "block_time": paid.block_time,
        "is_final": paid.is_final,
        "transfer": paid.transfer_id,
        "confirmations": paid.confirmations,
    }
    return _use(_USE_JUDGED, caller, request, parameters, now)


def _use(
    statements: dict[bool, str], caller: Caller, request: VerifyRequest, paid: dict[str, Any], now: datetime
) -> dict[str, Any] | None:
    public_id = new_id("x4p")
    answer = valid_payload(request.proof.tx_hash, public_id, now=now)
    limits = limits_for(caller.merchant_id, caller.mode, request, now=now)
    parameters = paid | limits | _payment(caller, request, now)
    parameters |= {"public_id": public_id, "answer": orjson.dumps(answer).decode()}
    try:
        # Runs without a transaction around it if nothing is added up: that would take more round trips.
        with turn_of_seller(caller.merchant_id, limits), connection.cursor() as cursor:
            cursor.execute(statements[is_limited(limits)], parameters)
            used = cursor.fetchone()
    except IntegrityError:
        return None
    if used is None:
        return None
    counted, height, head_at, transfer_id, units, witnessed_at = used
    try:
        if caller.mode == Mode.LIVE and witnessed_at is None:
            ask_early(caller.merchant_id, request.proof.chain, transfer_id, int(units), now=now)
        newer = _newer_head(request.proof.chain, caller.mode, head_at, now)
        told = answer | {"confirmations": max(counted, (newer or height) - height + 1)}
        if told["confirmations"] != counted:
            _keep(caller, told)
    except Exception:
        # The payment is used up already: the earlier count is a correct response too.
        log.exception("confirmations not counted anew", chain=request.proof.chain)
        return answer | {"confirmations": counted}
    return told


def _newer_head(chain: str, mode: Mode, head_at: datetime | None, now: datetime) -> int | None:
    """Return a fresh head of a chain if its watcher's is too old for a response; None if there is none."""
    if mode == Mode.TEST or head_at is None:
        return None
    # If a chain's watcher has stopped, the payment's block may no longer be in the chain.
    if not FRESH_SECONDS <= (now - head_at).total_seconds() < WATCHED_SECONDS:
        return None
    known = HEADS.known(chain)
    return HEADS.ask(chain) if known is None else known


def _keep(caller: Caller, answer: dict[str, Any]) -> None:
    """Keep the response for repetitions, with the same count."""
    if caller.key:
        KeptAnswer.objects.filter(merchant=caller.merchant_id, mode=caller.mode, key=caller.key).update(answer=answer)


def _payment(caller: Caller, request: VerifyRequest, now: datetime) -> dict[str, Any]:
    """Return the payment's fields from the caller and the request, before it is known which transfer it is."""
    proof, wanted = request.proof, request.requirements
    is_direct = settles_directly(proof.chain)
    return {
        "merchant": caller.merchant_id,
        "mode": caller.mode,
        "key": caller.key,
        "digest": request.digest,
        "protocol": Protocol.HASH,
        "chain": proof.chain,
        "token": wanted.token,
        "required": wanted.units,
        "payer": proof.payer,
        "pay_to": proof.pay_to,
        "is_signed": bool(proof.signature),
        "resource": wanted.resource,
        "now": now,
        "final_status": PaymentStatus.SETTLED if is_direct else PaymentStatus.VERIFIED,
        "settled_at": now if is_direct else None,
        "usd_rate": None if caller.mode == Mode.TEST else usd_rate(proof.chain, wanted.token, proof.units, now=now),
        **fee_parameters(),
    }


def kept_answer(caller: Caller, request: VerifyRequest) -> dict[str, Any] | None:
    """Return the response of the same earlier request; None without a key, or with a new one.

    Raises ConflictError for another body.
    """
    if not caller.key:
        return None
    kept = KeptAnswer.objects.filter(merchant=caller.merchant_id, mode=caller.mode, key=caller.key).first()
    if kept is None:
        return None
    refuse_another(kept, request.digest)
    answer: dict[str, Any] = kept.answer
    return answer


_TAKE_UNREAD: Final = """
    WITH taken AS (
        UPDATE x402_payment SET unread_digest = NULL
        WHERE id = (
            SELECT id FROM x402_payment
            WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND unread_digest = %(digest)s AND status <> 'reversed'
            ORDER BY id LIMIT 1 FOR NO KEY UPDATE)
        RETURNING public_id, chain, block_height
    )
    SELECT taken.public_id, GREATEST(k.head - taken.block_height + 1, 1)
    FROM taken LEFT JOIN wallets_chaincursor k ON k.chain = taken.chain
"""


def note_unread(payment_id: str, request: VerifyRequest) -> None:
    """Note that nobody read the valid response to a request: the next equal one gets it."""
    X402Payment.objects.filter(public_id=payment_id).update(unread_digest=request.digest)


@transaction.atomic
def take_unread(caller: Caller, request: VerifyRequest, *, now: datetime) -> dict[str, Any] | None:
    """Return the valid response of the same earlier request, once, if nobody read it; else None."""
    parameters: dict[str, Any] = {"merchant": caller.merchant_id, "mode": caller.mode, "digest": request.digest}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_UNREAD, parameters)
        taken = cursor.fetchone()
    if taken is None:
        return None
    payment_id, confirmations = taken
    answer = valid_payload(request.proof.tx_hash, payment_id, now=now) | {"confirmations": confirmations}
    if caller.key:
        kept = {"digest": request.digest, "answer": answer, "created_at": now}
        KeptAnswer.objects.create(merchant_id=caller.merchant_id, mode=caller.mode, key=caller.key, **kept)
    return answer


def forget_old(*, now: datetime) -> None:
    """Delete responses and sightings that are too old to matter."""
    forget_answers(KeptAnswer.objects.filter(created_at__lt=now - KEPT))
    Sighting.objects.filter(seen_at__lt=now - KEPT).delete()
