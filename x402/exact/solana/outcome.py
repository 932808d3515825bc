"""What a transaction on Solana came to, as its watcher will read it too."""

from datetime import datetime
from typing import Any

from wallets.chains.base import FoundTransaction
from x402.exact import answers
from x402.exact import reasons as common
from x402.exact.inputs import (
    Executed,
    StandardRequest,
)
from x402.exact.records import (
    fail_row,
    settle_row,
)
from x402.models import Authorization

Answer = dict[str, Any]


def conclude(
    row: Authorization,
    request: StandardRequest,
    found: FoundTransaction | None,
    *,
    now: datetime,
) -> Answer:
    """Return the answer to a transaction that is in a block."""
    if found is None or not found.succeeded:
        return _failed(row, request, common.TRANSACTION_FAILED)
    executed = _executed(found, request)
    if executed is None:
        return _failed(row, request, common.TRANSACTION_FAILED)
    return settle_row(row, request, executed, now=now)


def conclude_expired(row: Authorization, request: StandardRequest) -> Answer:
    """Return the answer to a transaction that no block has, and none can have any more: it cost nothing."""
    Authorization.objects.filter(pk=row.pk).update(network_fee=0)
    return _failed(row, request, common.TRANSACTION_FAILED)


def _executed(found: FoundTransaction, request: StandardRequest) -> Executed | None:
    """Return where the money arrived. The transaction moves nothing else, so there is one movement to find."""
    for one in found.transfers:
        is_ours = one.recipient == request.pay_to and one.token == request.token
        if is_ours and one.units == request.units:
            return Executed(one.tx_hash, one.position, one.block_height)
    return None


def _failed(row: Authorization, request: StandardRequest, reason: str) -> Answer:
    return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))
