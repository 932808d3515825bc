"""Responses kept for a repeated request, so that it does not cost the payer another payment.

They are kept under an Idempotency-Key, or because the client had closed its connection.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from gateway.core.api.errors import ConflictError
from x402.inputs import VerifyRequest
from x402.models import KeptAnswer, Sighting, X402Payment
from x402.payloads import valid_payload
from x402.payments.claims import Caller

KEPT: Final = timedelta(days=7)


def kept_answer(caller: Caller, request: VerifyRequest) -> dict[str, Any] | None:
    """Return the response of the same earlier request; None without a key, or with a new one.

    Raises ConflictError for another body.
    """
    if not caller.key:
        return None
    kept = KeptAnswer.objects.filter(merchant=caller.merchant_id, mode=caller.mode, key=caller.key).first()
    if kept is None:
        return None
    if bytes(kept.digest) != request.digest:
        raise ConflictError("This Idempotency-Key was used for another body.", code="duplicate")
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
    KeptAnswer.objects.filter(created_at__lt=now - KEPT).delete()
    Sighting.objects.filter(seen_at__lt=now - KEPT).delete()
