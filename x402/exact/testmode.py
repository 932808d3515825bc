"""Payments with test keys: no chain is touched. A nonce that begins with 0xfa11 fails, on Solana a memo that begins with fail."""

import hashlib
from datetime import datetime
from typing import Any, Final

import base58

from accounts.states import Mode
from wallets.chains.specs import Family
from x402.exact import (
    answers,
    reasons,
)
from x402.exact.inputs import (
    Executed,
    StandardRequest,
)
from x402.exact.records import (
    Payer,
    record_simulated,
)
from x402.exact.solana.payloads import transfer_of
from x402.payments.claims import Caller

_FAILING: Final = "0xfa11"
_FAILING_MEMO: Final = b"fail"


def verify_simulated(request: StandardRequest) -> dict[str, Any]:
    """Return the answer to a test's verification."""
    if _fails(request):
        return answers.unusable(request, reasons.INSUFFICIENT_BALANCE)
    return answers.valid(request)


def settle_simulated(
    caller: Caller, request: StandardRequest, *, now: datetime
) -> dict[str, Any]:
    """Return the answer to a test's settlement, with a hash that nobody finds on any chain."""
    if _fails(request):
        return answers.failed(request, reasons.INSUFFICIENT_BALANCE)
    told = f"{caller.merchant_id}:{request.spec.name}:{request.signed.payer}:{request.signed.nonce}"
    tx_hash = _hash(request.spec.family, told)
    executed = Executed(tx_hash, position=0, height=0)
    payer = Payer(caller.merchant_id, Mode.TEST, request)
    payment_id = record_simulated(payer, executed, now=now)
    return answers.settled(request, tx_hash, payment_id)


def _hash(family: Family, told: str) -> str:
    """Return what looks like a transaction's hash on a family's chains."""
    if family is Family.SOLANA:
        return base58.b58encode(hashlib.sha512(told.encode()).digest()).decode()
    return "0x" + hashlib.sha256(told.encode()).hexdigest()


def _fails(request: StandardRequest) -> bool:
    if request.spec.family is Family.SOLANA:
        memos = transfer_of(request.signed).memos
        return any(memo.startswith(_FAILING_MEMO) for memo in memos)
    return request.signed.nonce.startswith(_FAILING)
