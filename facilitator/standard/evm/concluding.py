"""What an authorisation came to, from its transaction's receipt and, where that failed, from what others handed in."""

from typing import Any

from facilitator.models import Authorization
from facilitator.standard import answers, reasons
from facilitator.standard.authorizations import release
from facilitator.standard.evm.evidence import find_used, transfer_in
from facilitator.standard.inputs import Clock, Executed, StandardRequest
from facilitator.standard.recording import fail_row, settle_row
from settlements.gas.node import Receipt
from wallets.chains.base import ChainError, MalformedAnswerError
from wallets.chains.pool import RpcPool

Answer = dict[str, Any]


def conclude(
    row: Authorization,
    request: StandardRequest,
    receipt: Receipt | None,
    *,
    pool: RpcPool,
    clock: Clock,
) -> Answer:
    """Return the answer to a transaction that was sent; without its receipt it is still on its way."""
    if receipt is None:
        release(row)
        return answers.pending(request, row.tx_hash)
    if not receipt.succeeded:
        failed = reasons.TRANSACTION_FAILED
        return conclude_elsewhere(row, request, failed, pool=pool, clock=clock)
    try:
        executed = transfer_in(receipt, request)
    except MalformedAnswerError:
        return conclude(row, request, None, pool=pool, clock=clock)
    if executed is None:
        mismatch = answers.failed(
            request, reasons.TRANSFER_MISMATCH, tx_hash=receipt.tx_hash
        )
        return fail_row(row, mismatch)
    return _settled(row, request, executed, clock)


def conclude_elsewhere(
    row: Authorization,
    request: StandardRequest,
    reason: str,
    *,
    pool: RpcPool,
    clock: Clock,
) -> Answer:
    """Return the answer where ours moved nothing: somebody else's transaction may have, else `reason` says why none did."""
    try:
        executed = find_used(pool, request)
    except ChainError:
        release(row)
        return answers.trouble(request)
    if executed is not None:
        return _settled(row, request, executed, clock)
    return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))


def _settled(
    row: Authorization, request: StandardRequest, executed: Executed, clock: Clock
) -> Answer:
    return settle_row(row, request, executed, now=clock())
