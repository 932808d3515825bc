"""Answers of the facilitator in the specification's form."""

from datetime import datetime
from typing import Any

from facilitator.judging import Candidate, Verdict
from gateway.core.times import iso


def valid_payload(
    tx_hash: str, payment_id: str, paid: Candidate, *, now: datetime
) -> dict[str, Any]:
    """Return the answer for a payment that was used up by this request; `tx_hash` is as it was written."""
    return {
        "valid": True,
        "txHash": tx_hash,
        "verifiedAt": iso(now),
        "paymentId": payment_id,
        "confirmations": paid.confirmations,
    }


def invalid_payload(tx_hash: str, verdict: Verdict) -> dict[str, Any]:
    """Return the answer for a payment that does not pay, or not yet."""
    return {
        "valid": False,
        "txHash": tx_hash,
        "reason": str(verdict.reason),
        "message": verdict.message,
        "retryAfter": verdict.retry_after,
    }
