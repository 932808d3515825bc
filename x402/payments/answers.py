"""Responses kept under an Idempotency-Key, so that a repeated request does not cost the payer another payment."""

from datetime import datetime, timedelta
from typing import Any, Final

from gateway.core.api.errors import ConflictError
from x402.inputs import VerifyRequest
from x402.models import KeptAnswer, Sighting
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


def forget_old(*, now: datetime) -> None:
    """Delete responses and sightings that are too old to matter."""
    KeptAnswer.objects.filter(created_at__lt=now - KEPT).delete()
    Sighting.objects.filter(seen_at__lt=now - KEPT).delete()
