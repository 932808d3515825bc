"""Emptying forwarders with our own gas: plan, write down, send, and record what the token's events say arrived.

Each step is a row or several, so that a process that dies anywhere leaves nothing that the next run does not go on with:
a batch without a transaction gets one, by its own reference; a transaction that was not sent is sent by whoever tends.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet

from settlements.errors import NoGasError
from settlements.flushing import (
    FACTORY,
    FLOOR_GAS,
    Item,
    batches,
    calldata,
    gas_of,
)
from settlements.gas.node import GasNode, Receipt
from settlements.models import GasTransaction, Settlement, SettlementItem
from settlements.quoting import worthwhile
from settlements.services.broadcasting import broadcast, find_receipt
from settlements.services.ledger import GasCall, intend
from settlements.services.planning import Waiting, waiting_items, write_batch
from settlements.states import (
    Purpose,
    Sender,
    SettlementStatus,
    TransactionState,
)
from wallets.chains.base import ChainError
from wallets.chains.evm_decode import TRANSFER
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

_OPEN: Final = (SettlementStatus.PENDING, SettlementStatus.SENT)


def sweep(wanted: Waiting, *, node: GasNode, now: datetime) -> list[Settlement]:
    """Send on what waits and is worth its gas; return the settlements. Raises NoGasError, ChainError.

    What was written down and could not be sent goes on with `resume`.
    """
    prices = node.prices()
    written: list[Settlement] = []
    with transaction.atomic():
        found = waiting_items(wanted)
        for batch in batches(worthwhile(wanted.chain, found, prices)):
            written += write_batch(wanted, batch, now=now)
    for reference in dict.fromkeys(one.batch for one in written):
        send_batch(reference, node=node, now=now)
    return list(Settlement.objects.filter(pk__in=[one.pk for one in written]))


def send_batch(batch: str, *, node: GasNode, now: datetime) -> None:
    """Give a written batch its transaction, and send it. Raises NoGasError, ChainError; `resume` tries again."""
    rows = _settlements(batch)
    first = rows.first()
    if first is None:
        return
    call = _call(batch, first)
    made = intend(
        first.chain, call, purpose=Purpose.SWEEP, reference=batch, node=node, now=now
    )
    rows.update(transaction=made, status=SettlementStatus.SENT)
    broadcast(made, node=node, now=now)


def resume(chain: str, *, node: GasNode, now: datetime) -> int:
    """Go on with what was begun on a chain; return how many settlements ended. Safe to run at any time, by anybody."""
    ended = 0
    open_rows = Settlement.objects.filter(
        chain=chain, status__in=_OPEN, sender=Sender.GATEWAY
    )
    for batch in list(open_rows.values_list("batch", flat=True).distinct()):
        try:
            ended += _resume_batch(batch, node=node, now=now)
        except (NoGasError, ChainError) as error:
            log.warning("batch not resumed", chain=chain, batch=batch, error=str(error))
    return ended


def _resume_batch(batch: str, *, node: GasNode, now: datetime) -> int:
    first = _settlements(batch).select_related("transaction__account").first()
    if first is None:
        return 0
    made = first.transaction
    if made is None or made.state == TransactionState.DROPPED:
        send_batch(batch, node=node, now=now)
        return 0
    if made.state != TransactionState.MINED:
        return 0
    receipt = find_receipt(made, node=node)
    if receipt is None:
        return 0
    return record_outcome(batch, made, receipt, now=now)


@transaction.atomic
def record_outcome(
    batch: str, made: GasTransaction, receipt: Receipt, *, now: datetime
) -> int:
    """Write what a final receipt says arrived; return how many settlements ended.

    The token's own Transfer events decide, never the transaction's status. A forwarder that somebody else emptied first has
    sent nothing here, and its money is where it should be.
    """
    rows = list(_settlements(batch).select_for_update(no_key=True))
    moved = _moved(receipt)
    for settlement in rows:
        _end(settlement, made, moved, now)
    return len(rows)


def _end(
    settlement: Settlement,
    made: GasTransaction,
    moved: Mapping[tuple[str, str, str], int],
    now: datetime,
) -> None:
    token = chain_spec(settlement.chain).tokens[settlement.token].address.lower()
    items = list(settlement.items.select_related("deposit"))
    for item in items:
        key = token, str(item.deposit), settlement.to.lower()
        item.units_moved, item.ended_at = moved.get(key, 0), now
    SettlementItem.objects.bulk_update(items, ["units_moved", "ended_at"])
    total = sum(int(item.units_moved or 0) for item in items)
    settlement.units_moved = total
    settlement.tx_hash = made.tx_hash
    settlement.settled_at = now if total else None
    settlement.status = SettlementStatus.SETTLED if total else SettlementStatus.FAILED
    if not total:
        settlement.error = "The transaction moved nothing: see its logs."
    settlement.save()


def _moved(receipt: Receipt) -> dict[tuple[str, str, str], int]:
    """Return what moved by token contract, sender and recipient, all in lower-case hex."""
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for log_entry in receipt.logs:
        if (move := _transfer(log_entry)) is not None:
            *key, units = move
            sums[key[0], key[1], key[2]] += units
    return sums


def _transfer(entry: Mapping[str, Any]) -> tuple[str, str, str, int] | None:
    topics, data, emitter = entry.get("topics"), entry.get("data"), entry.get("address")
    if not isinstance(topics, list) or len(topics) != 3 or topics[0] != TRANSFER:
        return None
    if not all(isinstance(part, str) for part in (*topics, data, emitter)):
        return None
    try:
        units = int(str(data), 16)
    except ValueError:
        return None
    return (
        str(emitter).lower(),
        "0x" + topics[1][-40:].lower(),
        "0x" + topics[2][-40:].lower(),
        units,
    )


def _settlements(batch: str) -> QuerySet[Settlement]:
    return Settlement.objects.filter(batch=batch, status__in=_OPEN).order_by("pk")


def _call(batch: str, first: Settlement) -> GasCall:
    items = list(_items(batch))
    token = bytes.fromhex(chain_spec(first.chain).tokens[first.token].address[2:])
    return GasCall(FACTORY, calldata(items, token), gas_of(items) + FLOOR_GAS)


def _items(batch: str) -> Iterable[Item]:
    rows: Sequence[SettlementItem] = list(
        SettlementItem.objects.filter(settlement__batch=batch, ended_at=None)
        .select_related("deposit", "settlement")
        .order_by("deposit__destination", "deposit_id")
    )
    for row in rows:
        yield Item(
            deposit_id=row.deposit_id,
            merchant_id=row.settlement.merchant_id,
            purpose=row.settlement.purpose,
            destination=bytes(row.deposit.destination),
            nonce=bytes(row.deposit.nonce),
            units=int(row.units),
            is_deployed=False,
        )
