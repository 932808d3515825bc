"""Sending what the ledger holds, and following it until it is in the chain for good.

Everything here may be done any number of times and by several processes at once: a transaction's attempts all have one
number, so that the chain takes one of them, and sending it again changes nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.fees import Fees, raised_fees
from settlements.gas.node import GasNode, Receipt, Sending
from settlements.gas.policy import gas_policy
from settlements.models import GasAccount, GasAttempt, GasTransaction
from settlements.services.ledger import OPEN, open_transactions, write_attempt
from settlements.states import TransactionState
from wallets.chains.adapters import open_pool
from wallets.chains.registry import ChainSpec
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

RECEIPT_SECONDS: Final = 20.0
"""How long a request waits for a receipt before it answers that the settlement is pending."""

# A transaction that is in no block after so many blocks' time pays more, or is sent again.
_PATIENCE_BLOCKS: Final = 15
_LEAST_PATIENCE: Final = timedelta(seconds=30)
_FIRST_LOOK: Final = 0.02
_LONGEST_PAUSE: Final = 1.0


@contextmanager
def gas_node(chain: str) -> Iterator[GasNode]:
    """Open the nodes of a chain for transactions, and close them."""
    pool = open_pool(chain_spec(chain))
    try:
        yield GasNode(pool)
    finally:
        pool.close()


def broadcast(
    gas_transaction: GasTransaction, *, node: GasNode, now: datetime
) -> Sending:
    """Hand the newest attempt to the nodes, and write down what they said. Raises ChainError; then it is tried again."""
    attempt = gas_transaction.attempts.order_by("-number")[0]
    answer = node.send(bytes(attempt.raw))
    with transaction.atomic():
        taken = answer is Sending.TAKEN
        GasAttempt.objects.filter(pk=attempt.pk).update(
            sent_at=now if taken else attempt.sent_at,
            error="" if taken else answer.value,
        )
        if taken:
            GasTransaction.objects.filter(
                pk=gas_transaction.pk, state=TransactionState.INTENDED
            ).update(state=TransactionState.SENT, sent_at=now)
    if not taken:
        log.warning("transaction not taken", tx=attempt.tx_hash, answer=answer.value)
    return answer


def find_receipt(gas_transaction: GasTransaction, *, node: GasNode) -> Receipt | None:
    """Return the receipt of whichever attempt is in a block. Raises ChainError."""
    for attempt in gas_transaction.attempts.order_by("-number"):
        if (receipt := node.receipt(attempt.tx_hash)) is not None:
            return receipt
    return None


def await_receipt(
    gas_transaction: GasTransaction,
    *,
    node: GasNode,
    seconds: float = RECEIPT_SECONDS,
) -> Receipt | None:
    """Wait until an attempt is in a block; None after so many seconds, when it may still get there."""
    until = time.monotonic() + seconds
    pause = _FIRST_LOOK
    while True:
        if (receipt := find_receipt(gas_transaction, node=node)) is not None:
            return receipt
        if time.monotonic() + pause > until:
            return None
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_PAUSE)


def note_receipt(
    gas_transaction: GasTransaction, receipt: Receipt, *, is_final: bool, now: datetime
) -> None:
    """Write down which block a transaction is in; once that is final, its number is used for good."""
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
    GasTransaction.objects.filter(pk=gas_transaction.pk, state__in=OPEN).update(
        **changed
    )


def tend(chain: str, *, node: GasNode, now: datetime) -> int:
    """Look after everything on its way on a chain; return how much still is.

    Receipts are written down, what was never sent is sent, what waits too long pays more, and what can never be mined,
    because something else used its number, is dropped: whoever wanted it sees that and asks anew. Raises ChainError.
    """
    pending = list(open_transactions(chain))
    if not pending:
        return 0
    height = node.height()
    spec = chain_spec(chain)
    accounts = {one.account.address: one.account for one in pending}
    mined = {address: node.nonce(address) for address in accounts}
    for one in pending:
        _tend_one(
            one,
            spec,
            node=node,
            height=height,
            mined=mined[one.account.address],
            now=now,
        )
    return open_transactions(chain).count()


def _tend_one(
    one: GasTransaction,
    spec: ChainSpec,
    *,
    node: GasNode,
    height: int,
    mined: int,
    now: datetime,
) -> None:
    if one.nonce >= mined:
        _push(one, spec, node=node, is_next=one.nonce == mined, now=now)
        return
    receipt = find_receipt(one, node=node)
    final = height - spec.confirmations + 1
    if receipt is not None:
        note_receipt(one, receipt, is_final=receipt.height <= final, now=now)
        return
    # Another node may lag: only a number that was used in a final block is used for good.
    if final >= 0 and node.nonce(one.account.address, height=final) > one.nonce:
        _drop(one)


def _push(
    one: GasTransaction,
    spec: ChainSpec,
    *,
    node: GasNode,
    is_next: bool,
    now: datetime,
) -> None:
    """Send what is not in a block yet: as it is, or dearer where it is the next in turn and waited long enough."""
    newest = one.attempts.order_by("-number")[0]
    if newest.sent_at is not None and now - newest.sent_at <= _patience(spec):
        return
    if newest.sent_at is not None and is_next:
        _replace(one, newest, spec, node=node, now=now)
    broadcast(one, node=node, now=now)


def _patience(spec: ChainSpec) -> timedelta:
    return max(
        _LEAST_PATIENCE, timedelta(seconds=_PATIENCE_BLOCKS * spec.block_seconds)
    )


def _replace(
    one: GasTransaction,
    newest: GasAttempt,
    spec: ChainSpec,
    *,
    node: GasNode,
    now: datetime,
) -> None:
    before = Fees(int(newest.max_fee), int(newest.priority_fee))
    most = gas_policy(spec.name).max_fee
    fees = raised_fees(before, node.prices(), most=most)
    if fees is None:
        log.warning("gas is too dear to replace", chain=spec.name, tx=newest.tx_hash)
        return
    with transaction.atomic():
        rows = GasTransaction.objects.select_for_update(of=("self",), no_key=True)
        locked = rows.select_related("account").get(pk=one.pk)
        is_newest = not locked.attempts.filter(number__gt=newest.number).exists()
        if locked.state in OPEN and is_newest:
            try:
                write_attempt(locked, fees, number=newest.number + 1, now=now)
            except NoGasError as error:
                log.warning("not replaced", chain=spec.name, error=str(error))


def _drop(one: GasTransaction) -> None:
    dropped = GasTransaction.objects.filter(pk=one.pk, state__in=OPEN).update(
        state=TransactionState.DROPPED
    )
    if dropped:
        log.error("a gas key was used elsewhere", account=one.account.address)


def refresh_balances(chain: str, *, node: GasNode, now: datetime) -> None:
    """Ask what a chain's gas accounts hold, and whether their numbers were used elsewhere. Raises ChainError."""
    for account in GasAccount.objects.filter(chain=chain):
        balance, mined = node.balance(account.address), node.nonce(account.address)
        with transaction.atomic():
            locked = GasAccount.objects.select_for_update(no_key=True).get(
                pk=account.pk
            )
            locked.balance_wei, locked.balance_at = balance, now
            # Somebody else has the key as well: go on after them.
            locked.next_nonce = max(locked.next_nonce or 0, mined)
            locked.save(update_fields=["balance_wei", "balance_at", "next_nonce"])
