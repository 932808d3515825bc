"""Payments with test keys: no chain is touched, and a nonce that begins with 0xfa11 fails."""

import hashlib
from datetime import datetime
from typing import Any, Final

from accounts.states import Mode
from facilitator.services.using import Caller
from facilitator.standard import answers, reasons
from facilitator.standard.inputs import Executed, StandardRequest
from facilitator.standard.recording import Payer, record

_FAILING: Final = "0xfa11"


def verify_simulated(request: StandardRequest) -> dict[str, Any]:
    """Return the answer to a test's verification."""
    if _fails(request):
        payer = request.signed.payer
        return answers.invalid(reasons.INSUFFICIENT_BALANCE, payer=payer)
    return answers.valid(request)


def settle_simulated(
    caller: Caller, request: StandardRequest, *, now: datetime
) -> dict[str, Any]:
    """Return the answer to a test's settlement, with a hash that nobody finds on any chain."""
    if _fails(request):
        return answers.failed(request, reasons.INSUFFICIENT_BALANCE)
    told = f"{caller.merchant_id}:{request.spec.name}:{request.signed.payer}:{request.signed.nonce}"
    tx_hash = "0x" + hashlib.sha256(told.encode()).hexdigest()
    executed = Executed(tx_hash, position=0, height=0)
    # Recorded before, it is the same payment again.
    record(Payer(caller.merchant_id, Mode.TEST, request), executed, now=now)
    return answers.settled(request, tx_hash)


def _fails(request: StandardRequest) -> bool:
    return request.signed.nonce.startswith(_FAILING)
