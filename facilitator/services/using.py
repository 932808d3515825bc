"""Using a payment up: one insert decides who has it, and whoever has it owes the fee and keeps the answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from django.db import IntegrityError, connection

from accounts.services.fees import FEE_OF
from accounts.states import Mode
from facilitator.inputs import VerifyRequest
from facilitator.judging import Candidate
from facilitator.payloads import valid_payload
from facilitator.services.addresses import settles_directly
from facilitator.states import PaymentStatus, Protocol
from gateway.core.ids import new_id
from gateway.core.money import from_units


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a key of a merchant, in a mode. `key` is the request's Idempotency-Key, "" for none."""

    merchant_id: int
    mode: Mode
    key: str = ""


# One statement: the payment's own key decides, and whoever inserts it also claims the transfer, owes the fee and keeps the
# answer. A transfer that something else claimed, or an answer that somebody else kept, undoes all of it.
_USE: Final = f"""
    WITH used AS (
        INSERT INTO facilitator_x402payment (
            public_id, merchant_id, mode, protocol, chain, tx_hash, position, token, units, required_units, payer, pay_to,
            is_signed, resource, status, block_height, block_time, verified_at, final_at, settled_at, transfer_id)
        VALUES (
            %(public_id)s::text, %(merchant)s::bigint, %(mode)s::text, %(protocol)s::text, %(chain)s::text,
            %(tx_hash)s::text, %(position)s::int, %(token)s::text, %(units)s::numeric, %(required)s::numeric,
            %(payer)s::text, %(pay_to)s::text, %(is_signed)s::boolean, %(resource)s::text, %(status)s::text,
            %(height)s::bigint, %(block_time)s::timestamptz, %(now)s::timestamptz, %(final_at)s::timestamptz,
            %(settled_at)s::timestamptz, %(transfer)s::bigint)
        ON CONFLICT DO NOTHING
        RETURNING id
    ), claimed AS (
        INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
        SELECT %(transfer)s::bigint, 'x402', %(now)s::timestamptz FROM used WHERE %(transfer)s::bigint IS NOT NULL
    ), charged AS (
        INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, chain, token, received, rate, amount, charged_at)
        SELECT m.id, 'x402', %(public_id)s::text, %(chain)s::text, %(token)s::text, %(usd)s::numeric, m.fee_rate,
               {FEE_OF.format(received="%(usd)s::numeric")}, %(now)s::timestamptz
        FROM used, accounts_merchant m WHERE m.id = %(merchant)s::bigint AND %(mode)s::text = 'live'
    ), kept AS (
        INSERT INTO facilitator_keptanswer (merchant_id, mode, key, digest, answer, created_at)
        SELECT %(merchant)s::bigint, %(mode)s::text, %(key)s::text, %(digest)s::bytea, %(answer)s::jsonb,
               %(now)s::timestamptz
        FROM used WHERE %(key)s::text <> ''
    )
    SELECT id FROM used
"""  # noqa: S608 - only our own text is put in


def use_up(
    caller: Caller, request: VerifyRequest, paid: Candidate, *, now: datetime
) -> dict[str, Any] | None:
    """Use a payment up, and return the answer that says so; None where somebody was faster.

    That is somebody with the same payment, or with another one and the same Idempotency-Key.
    """
    public_id = new_id("x4p")
    answer = valid_payload(request.tx_hash, public_id, paid, now=now)
    parameters = _payment(caller, request, paid, now) | {
        "public_id": public_id,
        "key": caller.key,
        "digest": request.digest,
        "answer": orjson.dumps(answer).decode(),
    }
    try:
        # A transaction by itself: beginning and committing one around it would be two more round trips.
        with connection.cursor() as cursor:
            cursor.execute(_USE, parameters)
            return answer if cursor.fetchone() else None
    except IntegrityError:
        return None


def _payment(
    caller: Caller, request: VerifyRequest, paid: Candidate, now: datetime
) -> dict[str, Any]:
    is_settled = paid.is_final and settles_directly(request.proof.chain)
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
        "status": PaymentStatus.SETTLED if is_settled else PaymentStatus.VERIFIED,
        "final_at": now if paid.is_final else None,
        "settled_at": now if is_settled else None,
        "transfer": paid.transfer_id,
        "usd": from_units(paid.units),
    }
