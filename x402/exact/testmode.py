"""Payments with test keys: no chain is touched.

A nonce that begins with 0xfa11 fails; on Solana a memo that begins with fail.
"""

from datetime import datetime
from typing import Any

from accounts.states import Mode
from x402.exact import answers, reasons
from x402.exact.inputs import Executed, StandardRequest
from x402.exact.rails import rail_of
from x402.exact.records import Payer, record_simulated
from x402.payments.claims import Caller


def verify_simulated(request: StandardRequest) -> dict[str, Any]:
    """Return the response to a test's verification."""
    if _fails(request):
        return answers.unusable(request, reasons.INSUFFICIENT_BALANCE)
    return answers.valid(request)


def settle_simulated(caller: Caller, request: StandardRequest, *, now: datetime) -> dict[str, Any]:
    """Return the response to a test's settlement, with a hash that exists on no chain."""
    if _fails(request):
        return answers.failed(request, reasons.INSUFFICIENT_BALANCE)
    told = f"{caller.merchant_id}:{request.spec.name}:{request.signed.payer}:{request.signed.nonce}"
    tx_hash = rail_of(request.spec.family).simulated_hash(told)
    executed = Executed(tx_hash, position=0, height=0)
    payer = Payer(caller.merchant_id, Mode.TEST, request)
    payment_id = record_simulated(payer, executed, now=now)
    return answers.settled(request, tx_hash, payment_id)


def _fails(request: StandardRequest) -> bool:
    return rail_of(request.spec.family).simulates_failure(request)
