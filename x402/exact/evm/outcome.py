"""The result of an authorisation: from its transaction's receipt or, if that failed, from third parties' transactions."""

import time
from typing import Any, Final

from accounts.states import Mode
from settlements.gas.node import Receipt
from wallets.chains.base import ChainError, MalformedAnswerError
from wallets.chains.rpc.pool import RpcPool
from x402.exact import answers, reasons
from x402.exact.authorizations import release
from x402.exact.evm.evidence import Evidence, find_used, transfer_in
from x402.exact.inputs import Clock, Executed, StandardRequest
from x402.exact.records import fail_row, settle_row
from x402.models import Authorization, X402Payment

Answer = dict[str, Any]

_LOOKS: Final = 3
_PAUSE: Final = 0.5
_USED = (
    "The authorisation is already used or expired, and we found no unused payment by it."
    " If there is one, prove it by its transaction's hash."
)


def conclude(
    row: Authorization, request: StandardRequest, receipt: Receipt | None, *, pool: RpcPool, clock: Clock
) -> Answer:
    """Return the response for a transaction that was sent; without its receipt it is still in progress."""
    if receipt is None:
        release(row)
        return answers.pending(request, row.tx_hash)
    if not receipt.succeeded:
        failed = reasons.TRANSACTION_FAILED
        height = receipt.height
        return conclude_elsewhere(row, request, failed, pool=pool, clock=clock, at_least=height)
    try:
        executed = transfer_in(receipt, request)
    except MalformedAnswerError:
        return conclude(row, request, None, pool=pool, clock=clock)
    if executed is None:
        mismatch = answers.failed(request, reasons.TRANSFER_MISMATCH, tx_hash=receipt.tx_hash)
        return fail_row(row, mismatch)
    return _settled(row, request, executed, clock)


def conclude_elsewhere(
    row: Authorization, request: StandardRequest, reason: str, *, pool: RpcPool, clock: Clock, at_least: int = 0
) -> Answer:
    """Return the response if ours moved nothing: a third party's transaction may have, else `reason` says why not."""
    try:
        evidence = _find_used(pool, request, at_least=at_least)
    except ChainError:
        release(row)
        return answers.trouble(request)
    if evidence.executed is not None:
        return _settled(row, request, evidence.executed, clock)
    if not evidence.is_used:
        return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))
    used = answers.used_reason(request)
    return fail_row(row, answers.failed(request, used, _USED, tx_hash=row.tx_hash))


def _find_used(pool: RpcPool, request: StandardRequest, *, at_least: int) -> Evidence:
    """Search a second and a third time for the use of an authorisation: nodes show a block's effects before its logs."""
    for _ in range(_LOOKS - 1):
        evidence = find_used(pool, request, at_least=at_least)
        if evidence.executed is not None or not evidence.is_used:
            return evidence
        time.sleep(_PAUSE)
    return find_used(pool, request, at_least=at_least)


def conclude_return(row: Authorization, request: StandardRequest, *, pool: RpcPool, clock: Clock) -> None:
    """Conclude a payment that a third party submitted and a reorg removed, if a third party did so again. Raises ChainError."""
    evidence = find_used(pool, request)
    if evidence.executed is not None:
        _settled(row, request, evidence.executed, clock)
    release(row)


def was_paid(pool: RpcPool, request: StandardRequest) -> bool:
    """Whether a third party carried out an authorisation, and the transfer has no use yet. Raises ChainError."""
    executed = find_used(pool, request).executed
    if executed is None:
        return False
    used = X402Payment.objects.filter(mode=Mode.LIVE, chain=request.spec.name)
    return not used.filter(tx_hash=executed.tx_hash, position=executed.position).exists()


def _settled(row: Authorization, request: StandardRequest, executed: Executed, clock: Clock) -> Answer:
    return settle_row(row, request, executed, now=clock())
