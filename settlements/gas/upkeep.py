"""Looking after transactions until they are in the chain for good: sent, paid more for, given up, their receipts written down.

Nothing here may wait for one transaction: those behind it have higher numbers, and the chain takes them in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.broadcast import (
    broadcast,
    find_receipt,
    note_receipt,
)
from settlements.gas.fees import Fees, raised_fees
from settlements.gas.ledger import (
    open_transactions,
    write_attempt,
)
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
"""How long a transaction that no node takes may hold up those behind it."""

REOPENED_FOR: Final = timedelta(days=7)
"""How long a chain may take back what was final; a node that tells of older things that are gone is not believed."""

# A transaction that is in no block after so many blocks' time pays more, or is sent again.
_PATIENCE_BLOCKS: Final = 15
_LEAST_PATIENCE: Final = timedelta(seconds=30)

# What a transaction that does nothing takes.
_LEAST_GAS: Final = 21_000


@dataclass(frozen=True, slots=True)
class _Round:
    """One look at a chain: its newest final block (below 0 where there is none), and how many of an account's were mined."""

    spec: ChainSpec
    node: GasNode
    final: int
    mined: int
    now: datetime

    def is_late(self, attempt: GasAttempt) -> bool:
        """Whether an attempt was to be in a block by now."""
        patience = timedelta(seconds=_PATIENCE_BLOCKS * self.spec.block_seconds)
        since = attempt.sent_at or attempt.signed_at
        return self.now - since > max(_LEAST_PATIENCE, patience)


def tend(chain: str, *, node: GasNode, now: datetime) -> int:
    """Look after everything on its way on a chain; return how much still is.

    Receipts are written down, what was never sent is sent, what waits too long pays more, what no node takes makes room, and
    what can never be mined, because something else used its number, is dropped: whoever wanted it sees that and asks anew.
    Raises ChainError.
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
            # A strange answer about one of them is no reason to leave the others alone.
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
        # Without a second node's word nothing is given up, and those behind it are looked after all the same.
        log.warning("transaction may be lost", pk=one.pk, error=str(error))
        return False


def _push(one: GasTransaction, seen: _Round) -> None:
    """Send what is not in a block yet: as it is, or dearer where it is the next in turn and waited long enough."""
    newest = one.attempts.order_by("-number")[0]
    is_late = seen.is_late(newest)
    if newest.sent_at is not None and not is_late:
        return
    if one.nonce == seen.mined and is_late:
        _go_on(one, newest, seen)
    broadcast(one, node=seen.node, now=seen.now)


def _go_on(one: GasTransaction, newest: GasAttempt, seen: _Round) -> None:
    """Do something about the transaction that all others of its account wait for."""
    if newest.error == Sending.REFUSED.value:
        if seen.now - one.created_at > GIVE_UP_AFTER and one.purpose != Purpose.CANCEL:
            _replace(one, newest, seen, is_cancelled=True)
    elif newest.error != Sending.POOR.value:
        # Who cannot pay could pay more still less.
        _replace(one, newest, seen)


def _replace(
    one: GasTransaction,
    newest: GasAttempt,
    seen: _Round,
    *,
    is_cancelled: bool = False,
) -> None:
    before = Fees(int(newest.max_fee), int(newest.priority_fee))
    most = gas_policy(seen.spec.name).max_fee
    fees = raised_fees(before, seen.node.prices(), most=most)
    if fees is None:
        log.warning(
            "gas is too dear to replace", chain=seen.spec.name, tx=newest.tx_hash
        )
        return
    with transaction.atomic():
        rows = GasTransaction.objects.select_for_update(of=("self",), no_key=True)
        locked = rows.select_related("account").get(pk=one.pk)
        is_newest = not locked.attempts.filter(number__gt=newest.number).exists()
        if locked.state in ON_THEIR_WAY and is_newest:
            if is_cancelled:
                log.error("no node takes a transaction: given up", pk=locked.pk)
                make_empty(locked)
            _sign_again(locked, fees, newest.number + 1, seen)


def make_empty(locked: GasTransaction) -> None:
    """Let a transaction do nothing but use up its number, for which it needs no reference of anybody's any more."""
    locked.reference = f"{locked.purpose}:{locked.pk}"
    locked.purpose = Purpose.CANCEL
    locked.to, locked.data = locked.account.address, b""
    locked.gas_limit = _LEAST_GAS
    locked.save(update_fields=["reference", "purpose", "to", "data", "gas_limit"])


def _sign_again(locked: GasTransaction, fees: Fees, number: int, seen: _Round) -> None:
    try:
        write_attempt(locked, fees, number=number, now=seen.now)
    except NoGasError as error:
        log.warning("not replaced", chain=seen.spec.name, error=str(error))


def _reopen_missing(account: GasAccount, mined: int, now: datetime) -> None:
    """Look after what the chain waits for again, where that was taken to be in it for good: all others come after it."""
    missing = GasTransaction.objects.filter(
        account=account,
        nonce=mined,
        state=TransactionState.MINED,
        mined_at__gt=now - REOPENED_FOR,
    )
    for one in missing:
        reopen(one)


def _drop(one: GasTransaction, seen: _Round) -> None:
    """Give up a transaction whose number something else used, and go on after whatever else did."""
    if not follow_chain(
        one.account_id, node=seen.node, height=seen.final, now=seen.now
    ):
        return
    dropped = GasTransaction.objects.filter(pk=one.pk, state__in=ON_THEIR_WAY).update(
        state=TransactionState.DROPPED
    )
    if dropped:
        log.error("a gas key was used elsewhere", account=one.account.address)


def reopen(gas_transaction: GasTransaction) -> None:
    """Look after a transaction again that was taken to be in the chain for good, and is not."""
    log.error("a final transaction is gone from the chain", tx=gas_transaction.tx_hash)
    GasTransaction.objects.filter(
        pk=gas_transaction.pk, state=TransactionState.MINED
    ).update(state=TransactionState.SENT, mined_at=None)
