"""Empties nonces: of transactions that nodes refuse for want of coin or fee, and of expired ones.

An empty transaction takes the nonce, so that those behind it are mined. Whatever was signed for the nonce before, only one of
its attempts can be.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.balances import note_balance
from settlements.gas.broadcast import lock_transaction
from settlements.gas.fees import Fees, Prices, raised_fees
from settlements.gas.ledger import write_attempt
from settlements.gas.node import UNPAYABLE, GasNode, Sending
from settlements.gas.policy import gas_policy
from settlements.models import GasAttempt, GasTransaction
from settlements.states import ON_THEIR_WAY, Purpose, TransactionState
from wallets.chains.base import ChainError
from wallets.chains.specs import ChainSpec

log = structlog.get_logger(__name__)

# The gas of an empty transaction.
_LEAST_GAS: Final = 21_000
_WORD: Final = 32
# Where a payment's call names the end of its authorisation, in words after the function's first four bytes: EIP-3009's
# `transferWithAuthorization`, with three parts of a signature or with bytes, and the standard's proxy's `settle`.
_ENDS_AT: Final = {bytes.fromhex("e3ee160e"): 4, bytes.fromhex("cf092995"): 4, bytes.fromhex("13cd3b53"): 3}


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
    """Return why nodes refused a transaction: in words that we do not know, the balance and the base fee tell."""
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
    locked.reference = f"{locked.purpose}:{locked.pk}"
    locked.purpose = Purpose.CANCEL
    locked.to, locked.data = locked.account.address, b""
    locked.gas_limit, locked.expires_at = _LEAST_GAS, None
    locked.save(update_fields=[*("reference", "purpose", "to", "data", "gas_limit"), "expires_at"])


def _withdraw(attempt: GasAttempt, answer: Sending, prices: Prices | None, now: datetime) -> bool:
    """Empty a new transaction; False if another process may have given it to a node meanwhile."""
    made = lock_transaction(attempt.transaction_id)
    newest = made.attempts.order_by("-number")[0]
    is_untouched = not newest.error and newest.sent_at is None
    is_new = newest.pk == attempt.pk and made.state == TransactionState.INTENDED
    if not (is_new and is_untouched):
        return False
    GasAttempt.objects.filter(pk=attempt.pk).update(error=answer.value)
    # Coin that is missing for these fees is missing for higher ones too.
    _empty(made, newest, prices if answer is Sending.UNDERPRICED else None, now)
    return True


def _empty(locked: GasTransaction, newest: GasAttempt, prices: Prices | None, now: datetime) -> None:
    fees = Fees(int(newest.max_fee), int(newest.priority_fee))
    if prices is not None:
        most = gas_policy(locked.account.chain).max_fee
        fees = raised_fees(fees, prices, most=most) or fees
    make_empty(locked)
    write_attempt(locked, fees, number=newest.number + 1, now=now)


def _prices(node: GasNode) -> Prices | None:
    try:
        return node.prices()
    except ChainError:
        return None
