"""The result of a Solana transaction, as its watcher will read it."""

from datetime import datetime
from typing import Any

from wallets.chains.base import FoundTransaction
from x402.exact import answers
from x402.exact import reasons as common
from x402.exact.inputs import Executed, StandardRequest
from x402.exact.records import fail_row, settle_row
from x402.models import Authorization

Answer = dict[str, Any]


def conclude(row: Authorization, request: StandardRequest, found: FoundTransaction | None, *, now: datetime) -> Answer:
    """Return the response for a mined transaction."""
    if found is None or not found.succeeded:
        return _failed(row, request, common.TRANSACTION_FAILED)
    executed = _executed(found, request)
    if executed is None:
        return _failed(row, request, common.TRANSACTION_FAILED)
    return settle_row(row, request, executed, now=now)


def conclude_expired(row: Authorization, request: StandardRequest) -> Answer:
    """Return the response for a transaction that is in no block and never can be: it cost nothing."""
    Authorization.objects.filter(pk=row.pk).update(network_fee=0)
    return _failed(row, request, common.TRANSACTION_FAILED)


def _executed(found: FoundTransaction, request: StandardRequest) -> Executed | None:
    """Return where the money arrived. The transaction has exactly one movement."""
    for one in found.transfers:
        is_ours = one.recipient == request.pay_to and one.token == request.token
        if is_ours and one.units == request.units:
            return Executed(one.tx_hash, one.position, one.block_height)
    return None


def _failed(row: Authorization, request: StandardRequest, reason: str) -> Answer:
    return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))
