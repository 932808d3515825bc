"""Follows transactions until they are final: sends, raises fees, gives up, records receipts.

Nothing here may wait for one transaction: those behind it have higher nonces, and the chain takes them in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.broadcast import broadcast, find_receipt, lock_transaction, note_receipt
from settlements.gas.emptying import empty, has_expired, make_empty
from settlements.gas.fees import Fees, raised_fees
from settlements.gas.ledger import open_transactions, write_attempt
from settlements.gas.node import GasNode, Sending
from settlements.gas.nonces import follow_chain
from settlements.gas.policy import gas_policy
from settlements.models import GasAccount, GasAttempt, GasTransaction
from settlements.states import ON_THEIR_WAY, Purpose, TransactionState
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.specs import ChainSpec
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

GIVE_UP_AFTER: Final = timedelta(minutes=10)
"""How long a transaction that no node accepts may block those behind it."""

REOPENED_FOR: Final = timedelta(days=7)
"""How long a final result may be taken back; a node that reports older results as missing is not believed."""

# A transaction not mined after this many block times pays more, or is sent again.
_PATIENCE_BLOCKS: Final = 15
_LEAST_PATIENCE: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class _Round:
    """One pass over a chain: its newest final block (negative if there is none), and how many of an account's were mined."""

    spec: ChainSpec
    node: GasNode
    final: int
    mined: int
    now: datetime

    def is_late(self, attempt: GasAttempt) -> bool:
        """Whether an attempt should be mined by now."""
        patience = timedelta(seconds=_PATIENCE_BLOCKS * self.spec.block_seconds)
        since = attempt.sent_at or attempt.signed_at
        return self.now - since > max(_LEAST_PATIENCE, patience)


def tend(chain: str, *, node: GasNode, now: datetime) -> int:
    """Follow all pending transactions of a chain; return how many remain.

    Receipts are recorded, unsent ones are sent, late ones pay more, and refused ones become empty. One that can never be
    mined, because something else used its nonce, is dropped: its caller sees that and asks again. Raises ChainError.
    """
    by_account: dict[GasAccount, list[GasTransaction]] = {}
    for one in open_transactions(chain):
        by_account.setdefault(one.account, []).append(one)
    if not by_account:
        return 0
    spec = chain_spec(chain)
    final = node.height() - spec.confirmations + 1
    for account, pending in by_account.items():
        mined = node.nonce(account.address)
        if pending[0].nonce > mined:
            _reopen_missing(account, mined, now)
        _tend_account(pending, _Round(spec, node, final, mined, now))
    return open_transactions(chain).count()


def _tend_account(pending: Sequence[GasTransaction], seen: _Round) -> None:
    for one in pending:
        try:
            _tend_one(one, seen)
        except ChainUnavailableError:
            raise
        except ChainError as error:
            # A strange answer about one of them must not stop the others.
            log.warning("transaction not tended", pk=one.pk, error=str(error))


def _tend_one(one: GasTransaction, seen: _Round) -> None:
    if one.nonce >= seen.mined:
        _push(one, seen)
        return
    receipt = find_receipt(one, node=seen.node)
    if receipt is not None:
        is_final = receipt.height <= seen.final
        note_receipt(one, receipt, is_final=is_final, now=seen.now)
    elif seen.final >= 0 and _is_lost(one, seen):
        _drop(one, seen)


def _is_lost(one: GasTransaction, seen: _Round) -> bool:
    hashes = list(one.attempts.values_list("tx_hash", flat=True))
    address = one.account.address
    try:
        return seen.node.is_lost(address, one.nonce, hashes, height=seen.final)
    except ChainError as error:
        # Without a second node's confirmation nothing is given up; those behind it are still followed.
        log.warning("transaction may be lost", pk=one.pk, error=str(error))
        return False


def _push(one: GasTransaction, seen: _Round) -> None:
    """Send an unmined transaction: unchanged, or with higher fees if it is next in turn and late; empty if it expired."""
    newest = one.attempts.order_by("-number")[0]
    if has_expired(one, seen.spec, now=seen.now):
        empty(newest, prices=seen.node.prices(), now=seen.now)
        broadcast(one, node=seen.node, now=seen.now)
        return
    is_late = seen.is_late(newest)
    if newest.sent_at is not None and not is_late:
        return
    if one.nonce == seen.mined and is_late:
        _go_on(one, newest, seen)
    broadcast(one, node=seen.node, now=seen.now)


def _go_on(one: GasTransaction, newest: GasAttempt, seen: _Round) -> None:
    """Act on the transaction that all others of its account wait for."""
    if newest.error == Sending.REFUSED.value:
        if seen.now - one.created_at > GIVE_UP_AFTER and one.purpose != Purpose.CANCEL:
            _replace(one, newest, seen, is_cancelled=True)
    elif newest.error != Sending.POOR.value:
        # An account that cannot pay cannot pay more either.
        _replace(one, newest, seen)


def _replace(one: GasTransaction, newest: GasAttempt, seen: _Round, *, is_cancelled: bool = False) -> None:
    before = Fees(int(newest.max_fee), int(newest.priority_fee))
    most = gas_policy(seen.spec.name).max_fee
    fees = raised_fees(before, seen.node.prices(), most=most)
    if fees is None:
        log.warning("gas is too dear to replace", chain=seen.spec.name, tx=newest.tx_hash)
        return
    with transaction.atomic():
        locked = lock_transaction(one.pk)
        is_newest = not locked.attempts.filter(number__gt=newest.number).exists()
        if locked.state in ON_THEIR_WAY and is_newest:
            if is_cancelled:
                log.error("no node takes a transaction: given up", pk=locked.pk)
                make_empty(locked)
            _sign_again(locked, fees, newest.number + 1, seen)


def _sign_again(locked: GasTransaction, fees: Fees, number: int, seen: _Round) -> None:
    try:
        write_attempt(locked, fees, number=number, now=seen.now)
    except NoGasError as error:
        log.warning("not replaced", chain=seen.spec.name, error=str(error))


def _reopen_missing(account: GasAccount, mined: int, now: datetime) -> None:
    """Reopen transactions that were taken for final but are missing on the chain: all others wait for them."""
    missing = GasTransaction.objects.filter(
        account=account, nonce=mined, state=TransactionState.MINED, mined_at__gt=now - REOPENED_FOR
    )
    for one in missing:
        reopen(one)


def _drop(one: GasTransaction, seen: _Round) -> None:
    """Drop a transaction whose nonce something else used, and continue after that."""
    if not follow_chain(one.account_id, node=seen.node, height=seen.final, now=seen.now):
        return
    dropped = GasTransaction.objects.filter(pk=one.pk, state__in=ON_THEIR_WAY).update(state=TransactionState.DROPPED)
    if dropped:
        log.error("a gas key was used elsewhere", account=one.account.address)


def reopen(gas_transaction: GasTransaction) -> None:
    """Reopen a transaction that was taken for final, but is not."""
    log.error("a final transaction is gone from the chain", tx=gas_transaction.tx_hash)
    GasTransaction.objects.filter(pk=gas_transaction.pk, state=TransactionState.MINED).update(
        state=TransactionState.SENT, mined_at=None
    )
