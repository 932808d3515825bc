"""Sweeps forwarders with our own gas: plan, store, send, and record the result by the token's events.

Each step is stored, so the next run continues after a crash: a batch without a transaction gets one, by its own reference;
an unsent transaction is sent by `upkeep`.
"""

from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.ledger import affordable_gas, find, intend
from settlements.gas.node import GasNode, GasReceipt, broadcast, find_receipt, note_answer
from settlements.gas.upkeep import reopen, send_first
from settlements.models import GasTransaction, Settlement
from settlements.states import Purpose, Sender, SettlementStatus, TransactionState
from settlements.sweeps.outcomes import OPEN_STATUSES, fail_batch, open_settlements, read_receipt, record_outcome
from settlements.sweeps.plan import (
    WaitingFilter,
    alone,
    batches,
    call_of,
    gas_within,
    is_worthwhile,
    planned_items,
    waiting_items,
    worthwhile,
    write_batch,
)
from wallets.chains.base import ChainError
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

UNSENT_FOR: Final = timedelta(days=1)
"""A batch that could not be sent for this long is given up: its forwarders are free for the merchant's own wallet."""

_TOO_DEAR: Final = "Its gas would cost too much of what it moves: the money waits for more, or for cheaper gas."
_UNSENT: Final = "It could not be sent for a day: see the gas accounts."
_REFUSED: Final = "No node took its transaction."


def sweep(wanted: WaitingFilter, *, node: GasNode, now: datetime) -> list[Settlement]:
    """Sweep waiting forwarders that are worth their gas; return the settlements. Raises ChainError.

    `resume` continues with stored batches that could not be sent.
    """
    prices = node.prices()
    gas = gas_within(wanted.chain, affordable_gas(wanted.chain, prices, now=now))
    written: list[Settlement] = []
    with transaction.atomic():
        found = waiting_items(wanted, now=now)
        for batch in batches(worthwhile(wanted.chain, found, prices), gas=gas):
            written += write_batch(wanted, batch, now=now)
    with _alone_with_batches(wanted.chain) as is_ours:
        for reference in dict.fromkeys(one.batch for one in written):
            if is_ours:
                _try_to_go_on(reference, node=node, now=now)
    return list(Settlement.objects.filter(pk__in=[one.pk for one in written]))


def send_batch(batch: str, *, node: GasNode, now: datetime) -> None:
    """Create and send a stored batch's transaction. Raises NoGasError, ChainError; `resume` tries again.

    The price is checked again here: gas may be more expensive since it was stored, or was not checked then.
    """
    first = open_settlements(batch).first()
    if first is None:
        return
    made = find(Purpose.SWEEP, batch)
    is_new = made is None
    if made is None:
        items = planned_items(batch)
        if not is_worthwhile(first.chain, items, node.prices()):
            fail_batch(batch, _TOO_DEAR, now=now, is_trouble=False)
            return
        made = intend(
            first.chain,
            call_of(first.chain, first.token, items),
            purpose=Purpose.SWEEP,
            reference=batch,
            node=node,
            now=now,
        )
    newest = made.attempts.order_by("-number")[0]
    open_settlements(batch).update(transaction=made, status=SettlementStatus.SENT, tx_hash=newest.tx_hash)
    if not is_new:
        broadcast(made, node=node, now=now)
        return
    # A batch that cannot be paid for waits without a transaction, so that it can be given up.
    answer = send_first(newest, node=node, withdrawn=lambda: _wait_again(batch), now=now)
    note_answer(newest, answer, now=now)


def _wait_again(batch: str) -> None:
    waiting = {"status": SettlementStatus.PENDING, "transaction": None, "tx_hash": ""}
    open_settlements(batch).update(**waiting)


def resume(chain: str, *, node: GasNode, now: datetime) -> int:
    """Resume a chain's open settlements; return how many ended. Safe to run at any time, concurrently.

    None if another process is resuming it, which might see other prices for a batch.
    """
    rows = Settlement.objects.filter(chain=chain, status__in=OPEN_STATUSES, sender=Sender.GATEWAY)
    begun = rows.order_by("batch").values_list("batch", flat=True).distinct()
    with _alone_with_batches(chain) as is_ours:
        return sum(_try_to_go_on(batch, node=node, now=now) for batch in (list(begun) if is_ours else []))


def _alone_with_batches(chain: str) -> AbstractContextManager[bool]:
    """Yield whether no other process sends a chain's batches: two could see different prices and decide differently."""
    return alone(f"batches:{chain}")


def _try_to_go_on(batch: str, *, node: GasNode, now: datetime) -> int:
    try:
        return _go_on(batch, node=node, now=now)
    except (NoGasError, ChainError) as error:
        log.warning("batch waits", batch=batch, error=str(error))
        return 0


def _go_on(batch: str, *, node: GasNode, now: datetime) -> int:
    first = open_settlements(batch).select_related("transaction__account").first()
    if first is None:
        return 0
    made = first.transaction
    if made is None or made.state == TransactionState.DROPPED:
        if now - first.created_at > UNSENT_FOR and find(Purpose.SWEEP, batch) is None:
            return fail_batch(batch, _UNSENT, now=now, is_trouble=False)
        send_batch(batch, node=node, now=now)
        return 0
    if made.state == TransactionState.MINED:
        return _finish(batch, made, node=node, now=now)
    return 0


def _finish(batch: str, made: GasTransaction, *, node: GasNode, now: datetime) -> int:
    """Record the outcome, unless a reorg changed a block that was taken for final.

    A transaction that was given up ends its batch only here: until its nonce is used, an attempt that a node accepted earlier
    can still be mined.
    """
    receipt = find_receipt(made, node=node)
    final = node.height() - chain_spec(made.account.chain).confirmations + 1
    if receipt is None or receipt.height > final:
        reopen(made)
        return 0
    if made.purpose == Purpose.CANCEL and _is_empty(receipt):
        return fail_batch(batch, _REFUSED, now=now, is_trouble=True)
    return record_outcome(batch, made, receipt, now=now)


def _is_empty(receipt: GasReceipt) -> bool:
    """Whether it is the empty transaction's: a batch moves money, reports failed forwarders, or reverts.

    Raises MalformedAnswerError.
    """
    told = read_receipt(receipt)
    return told.succeeded and not told.moved and not told.failed
