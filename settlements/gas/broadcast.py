"""Sends the ledger's transactions and records their receipts. `upkeep` follows them until they are final.

Everything here is idempotent and safe in parallel: a transaction's attempts share one nonce, so the chain accepts only one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction

from settlements.gas.node import GasNode, Receipt, Sending
from settlements.models import GasAttempt, GasTransaction
from settlements.states import ON_THEIR_WAY, TransactionState
from wallets.chains.adapters import open_pool
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

RECEIPT_SECONDS: Final = 20.0
"""How long a request waits for a receipt before it answers that the settlement is pending."""


@contextmanager
def gas_node(chain: str) -> Iterator[GasNode]:
    """Open the nodes of a chain for transactions, and close them."""
    pool = open_pool(chain_spec(chain))
    try:
        yield GasNode(pool)
    finally:
        pool.close()


def broadcast(gas_transaction: GasTransaction, *, node: GasNode, now: datetime) -> Sending:
    """Send the newest attempt to the nodes, and record their answer. Raises ChainError; then it is tried again."""
    attempt = _offered(gas_transaction)
    answer = node.send(bytes(attempt.raw))
    note_answer(attempt, answer, now=now)
    return answer


def note_answer(attempt: GasAttempt, answer: Sending, *, now: datetime) -> None:
    """Record the nodes' answer to an attempt."""
    with transaction.atomic():
        taken = answer is Sending.TAKEN
        GasAttempt.objects.filter(pk=attempt.pk).update(
            sent_at=now if taken else attempt.sent_at, error="" if taken else answer.value
        )
        if taken:
            GasTransaction.objects.filter(pk=attempt.transaction_id, state=TransactionState.INTENDED).update(
                state=TransactionState.SENT, sent_at=now
            )
    if not taken:
        log.warning("transaction not taken", tx=attempt.tx_hash, answer=answer.value)


def _offered(gas_transaction: GasTransaction) -> GasAttempt:
    """Return the newest attempt, marked as one that a node may have: from now on it is not withdrawn."""
    with transaction.atomic():
        lock_transaction(gas_transaction.pk)
        attempt = gas_transaction.attempts.order_by("-number")[0]
        if not attempt.error:
            attempt.error = Sending.OFFERED.value
            attempt.save(update_fields=["error"])
    return attempt


def lock_transaction(pk: int) -> GasTransaction:
    """Lock a transaction, and return it as it is now."""
    rows = GasTransaction.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("account").get(pk=pk)


def find_receipt(gas_transaction: GasTransaction, *, node: GasNode) -> Receipt | None:
    """Return the receipt of any mined attempt. Raises ChainError."""
    for attempt in gas_transaction.attempts.order_by("-number"):
        if (receipt := node.receipt(attempt.tx_hash)) is not None:
            return receipt
    return None


def note_receipt(gas_transaction: GasTransaction, receipt: Receipt, *, is_final: bool, now: datetime) -> None:
    """Record which block a transaction is in; once that is final, its nonce is used for good."""
    changed = {
        "state": TransactionState.MINED if is_final else TransactionState.SENT,
        "tx_hash": receipt.tx_hash,
        "block_height": receipt.height,
        "block_hash": receipt.block_hash,
        "succeeded": receipt.succeeded,
        "gas_used": receipt.gas_used,
        "cost_wei": receipt.cost,
        "mined_at": now if is_final else None,
    }
    GasTransaction.objects.filter(pk=gas_transaction.pk, state__in=ON_THEIR_WAY).update(**changed)
