"""Follows transactions until they are final: sends them, raises fees, empties nonces that lead nowhere, records receipts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.balances import note_balance
from settlements.gas.fees import Fees, Prices, gas_facts, raised_fees
from settlements.gas.ledger import addresses_in_use, lock_day, most_fee, open_transactions, write_attempt
from settlements.gas.node import (
    UNPAYABLE,
    GasNode,
    Sending,
    broadcast,
    emptied_reference,
    find_receipt,
    lock_transaction,
    note_receipt,
)
from settlements.gas.nonces import follow_chain
from settlements.models import EMPTY_BYTES, GasAccount, GasAttempt, GasTransaction
from settlements.states import ON_THEIR_WAY, Outcome, Purpose, TransactionState
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.family import ChainSpec
from wallets.models import ChainCursor
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

# The gas of an empty transaction.
_LEAST_GAS: Final = 21_000
_WORD: Final = 32
# Where a payment's call names the end of its authorisation, in words after the function's first four bytes: EIP-3009's
# `transferWithAuthorization`, with three parts of a signature or with bytes, and the standard's proxy's `settle`.
_ENDS_AT: Final = {bytes.fromhex("e3ee160e"): 4, bytes.fromhex("cf092995"): 4, bytes.fromhex("13cd3b53"): 3}

GIVE_UP_AFTER: Final = timedelta(minutes=10)
"""How long a transaction that no node accepts may block those behind it."""

REOPENED_FOR: Final = timedelta(days=7)
"""How long a final result may be taken back; older ones are not, whatever a node reports as missing."""

# A transaction not mined after this many block times pays more, or is sent again.
_PATIENCE_BLOCKS: Final = 15
_LEAST_PATIENCE: Final = timedelta(seconds=30)


def send_first(attempt: GasAttempt, *, node: GasNode, withdrawn: Callable[[], object], now: datetime) -> Sending:
    """Give a new transaction to a node, and return the nodes' answer. Raises ChainError if a node may have it.

    If nodes refuse it for want of coin or fee, its nonce is emptied and NoGasError raised: certainly no node has it. Its
    caller records that nothing was sent by `withdrawn`, in the same database transaction.
    """
    answer = _reason(attempt, node.send_first(bytes(attempt.raw)), node=node)
    if answer not in UNPAYABLE:
        return answer
    prices = _prices(node)
    with transaction.atomic():
        if not _withdraw(attempt, answer, prices, now):
            return answer
        withdrawn()
    note_refusal(attempt.transaction, answer, node=node, now=now)
    raise NoGasError(f"{attempt.transaction.account.chain}: {answer.value}")


def _reason(attempt: GasAttempt, answer: Sending, *, node: GasNode) -> Sending:
    """Return why nodes refused a transaction. If their words are unknown, compare the balance and the base fee."""
    made = attempt.transaction
    if answer is not Sending.REFUSED:
        return answer
    try:
        if node.balance(made.account.address) < made.most_wei:
            return Sending.POOR
        return Sending.UNDERPRICED if attempt.max_fee < node.prices().base_fee else answer
    except ChainError:
        return answer


def note_refusal(made: GasTransaction, answer: Sending, *, node: GasNode, now: datetime) -> None:
    """Read the balance of an account that cannot pay, so that nothing more is begun until it can."""
    log.warning("transaction not paid for", pk=made.pk, answer=answer.value)
    if answer is not Sending.POOR:
        return
    try:
        note_balance(made.account, node=node, now=now)
    except ChainError as error:
        log.warning("balance not read", pk=made.pk, error=str(error))


def has_expired(made: GasTransaction, spec: ChainSpec, *, now: datetime) -> bool:
    """Whether a transaction's call would revert in the next block, because what it carries out has a deadline."""
    next_block = now + timedelta(seconds=spec.block_seconds)
    if made.expires_at is not None:
        return next_block >= made.expires_at
    return made.purpose == Purpose.X402 and next_block.timestamp() >= _signed_end(bytes(made.data))


def _signed_end(data: bytes) -> float:
    """Return the deadline inside the call of a payment that was stored without one, by a version before 0.26."""
    place = _ENDS_AT.get(data[:4])
    if place is None:
        return inf
    start = 4 + place * _WORD
    return int.from_bytes(data[start : start + _WORD], "big")


def patience(spec: ChainSpec) -> timedelta:
    """Return how long a transaction may take to its block before it is late."""
    return max(_LEAST_PATIENCE, timedelta(seconds=_PATIENCE_BLOCKS * spec.block_seconds))


def refuse_stuck(chain: str, *, node: GasNode, now: datetime, sender: str = "") -> None:
    """Raise NoGasError if what is sent now would wait: the network makes no blocks, or it would be behind a late transaction.

    Behind one on every account in use, or on `sender`. Raises ChainError.
    """
    spec, newest = chain_spec(chain), node.prices().at
    # A local chain makes blocks only for payments.
    if newest is not None and not spec.is_local and now - newest > patience(spec) and not _makes_blocks(spec, now):
        raise NoGasError(f"{chain} makes no blocks")
    addresses = [sender] if sender else addresses_in_use(chain)
    late = GasTransaction.objects.filter(
        account__chain=chain,
        account__address__in=addresses,
        state__in=ON_THEIR_WAY,
        outcome=Outcome.OPEN,
        block_height=None,
        created_at__lt=now - patience(spec),
    )
    lowest = dict(late.order_by("-nonce").values_list("account__address", "nonce"))
    # It may be in a block that was not noted yet.
    if lowest and all(one in lowest and node.nonce(one) <= lowest[one] for one in addresses):
        raise NoGasError(f"what was sent before on {chain} is in no block yet")


def _makes_blocks(spec: ChainSpec, now: datetime) -> bool:
    """Whether the watcher read a recent block: one node alone may lag."""
    return ChainCursor.objects.filter(chain=spec.name, head_time__gte=now - patience(spec)).exists()


def empty(attempt: GasAttempt, *, prices: Prices | None, now: datetime) -> None:
    """Replace a transaction's newest attempt by an empty one, which costs more if `prices` are given.

    An earlier attempt may be mined all the same, if a node has it.
    """
    with transaction.atomic():
        made = lock_transaction(attempt.transaction_id)
        newest = made.attempts.order_by("-number")[0]
        is_open = made.state in ON_THEIR_WAY and made.purpose != Purpose.CANCEL
        if is_open and newest.pk == attempt.pk:
            _empty(made, newest, prices, now)


def make_empty(locked: GasTransaction) -> None:
    """Turn a transaction into an empty one that only uses its nonce; its reference becomes free."""
    # Emptied again it keeps the first one, which says what it was.
    if locked.purpose != Purpose.CANCEL:
        locked.reference = emptied_reference(locked.purpose, locked.pk)
    locked.purpose = Purpose.CANCEL
    locked.to, locked.data = locked.account.address, b""
    locked.gas_limit, locked.expires_at = _empty_gas(locked.account.chain), None
    locked.save(update_fields=[*("reference", "purpose", "to", "data", "gas_limit"), "expires_at"])


def _empty_gas(chain: str) -> int:
    return _LEAST_GAS + gas_facts(chain).byte_gas * EMPTY_BYTES


def _withdraw(attempt: GasAttempt, answer: Sending, prices: Prices | None, now: datetime) -> bool:
    """Empty a new transaction; False if another process may have given it to a node meanwhile."""
    made = lock_transaction(attempt.transaction_id)
    newest = made.attempts.order_by("-number")[0]
    is_untouched = not newest.error and newest.sent_at is None
    is_new = newest.pk == attempt.pk and made.state == TransactionState.INTENDED
    if not (is_new and is_untouched):
        return False
    GasAttempt.objects.filter(pk=attempt.pk).update(error=answer.value)
    # What our own account lacks is no merchant's or payer's fault.
    made.merchant_id, made.payer = None, ""
    made.save(update_fields=["merchant", "payer"])
    # Coin that is missing for these fees is missing for higher ones too.
    _empty(made, newest, prices if answer is Sending.UNDERPRICED else None, now)
    return True


def _empty(locked: GasTransaction, newest: GasAttempt, prices: Prices | None, now: datetime) -> None:
    fees = Fees(int(newest.max_fee), int(newest.priority_fee))
    if prices is not None:
        most = most_fee(locked, _empty_gas(locked.account.chain), now=now)
        fees = raised_fees(fees, prices, most=most) or fees
    make_empty(locked)
    write_attempt(locked, fees, number=newest.number + 1, now=now)


def _prices(node: GasNode) -> Prices | None:
    try:
        return node.prices()
    except ChainError:
        return None


@dataclass(frozen=True, slots=True)
class _Round:
    """One pass over a chain: its newest final block (negative if there is none), and how many transactions of an account were mined."""

    spec: ChainSpec
    node: GasNode
    final: int
    mined: int
    now: datetime

    def is_late(self, attempt: GasAttempt) -> bool:
        """Whether an attempt should be mined by now."""
        since = attempt.sent_at or attempt.signed_at
        return self.now - since > patience(self.spec)


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
            # A malformed answer about one transaction must not stop the others.
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
        # Without a second node's confirmation no transaction is dropped; those behind it are still followed.
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
    before, chain = Fees(int(newest.max_fee), int(newest.priority_fee)), seen.spec.name
    prices = seen.node.prices()
    with transaction.atomic():
        # What is begun meanwhile would take the same rest of the day.
        lock_day(chain)
        locked = lock_transaction(one.pk)
        is_newest = not locked.attempts.filter(number__gt=newest.number).exists()
        if locked.state not in ON_THEIR_WAY or not is_newest:
            return
        gas = _empty_gas(chain) if is_cancelled else locked.gas_limit
        fees = raised_fees(before, prices, most=most_fee(locked, gas, now=seen.now))
        if fees is None:
            log.warning("gas is too dear to replace", chain=chain, tx=newest.tx_hash)
            return
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
