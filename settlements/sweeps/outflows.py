"""Assigns forwarders' outflows to settlements: ours, a merchant's own wallet's, or a third party's.

Anyone may flush a forwarder, which pays its merchant. Such a flush becomes a settlement too.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from settlements.models import GasAttempt, SettledOutflow, Settlement, SettlementItem
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.escrow import tell_of_flushes
from settlements.sweeps.outcomes import OPEN_STATUSES, forget_trouble
from settlements.sweeps.plan import alone
from wallets.models import ChainCursor, DepositOutflow
from wallets.states import TransferState

log = structlog.get_logger(__name__)

MOST_AT_ONCE: Final = 1_000
"""How many outflows are assigned in one run, and what remains of the last block."""

RECENT_BLOCKS: Final = 20_000
"""How far back new outflows are searched; the nightly check covers everything."""

Outflows = Sequence[DepositOutflow]


def note_outflows(chain: str, *, now: datetime, everything: bool = False) -> int:
    """Assign a chain's new final outflows to settlements; return how many."""
    with alone(f"outflows:{chain}") as is_ours:
        if not is_ours:
            return 0
        by_transaction: dict[str, list[DepositOutflow]] = defaultdict(list)
        found = _in_whole_blocks(_unsettled(chain, everything=everything))
        for outflow in found:
            by_transaction[outflow.tx_hash].append(outflow)
        for tx_hash, outflows in by_transaction.items():
            _note_transaction(tx_hash, outflows, now)
        return len(found)


def _unsettled(chain: str, *, everything: bool) -> QuerySet[DepositOutflow]:
    cursor = ChainCursor.objects.filter(chain=chain).first()
    rows = DepositOutflow.objects.filter(
        ~Exists(SettledOutflow.objects.filter(outflow=OuterRef("pk"))), chain=chain, state=TransferState.CONFIRMED
    )
    if not everything and cursor is not None and cursor.height is not None:
        rows = rows.filter(block_height__gte=cursor.height - RECENT_BLOCKS)
    return rows.select_related("deposit").order_by("block_height", "pk")


def _in_whole_blocks(rows: QuerySet[DepositOutflow]) -> Outflows:
    """Return the first MOST_AT_ONCE outflows and the rest of the last one's block, so that no transaction is cut in two."""
    found = list(rows[:MOST_AT_ONCE])
    if len(found) == MOST_AT_ONCE:
        last = found[-1]
        found += rows.filter(block_height=last.block_height, pk__gt=last.pk)
    return found


@transaction.atomic
def _note_transaction(tx_hash: str, outflows: Outflows, now: datetime) -> None:
    forget_trouble(outflows[0].chain, [outflow.deposit_id for outflow in outflows])
    left = _link(outflows, _settlements_of_ours(tx_hash))
    if not left:
        return
    sent = _settlements_of_wallets(tx_hash, left)
    strangers = _link(left, sent)
    for settlement in sent:
        _end_wallet(settlement, tx_hash, now)
    _note_strangers(tx_hash, strangers)


def _settlements_of_ours(tx_hash: str) -> list[Settlement]:
    attempt = GasAttempt.objects.filter(tx_hash=tx_hash).first()
    if attempt is None:
        return []
    rows = Settlement.objects.filter(transaction=attempt.transaction_id)
    return list(rows.prefetch_related("items"))


def _settlements_of_wallets(tx_hash: str, outflows: Outflows) -> list[Settlement]:
    """Return the wallet settlements that this transaction may carry out; one without a hash takes the first that fits.

    Those with its hash are last, which wins. One that was given up is among them: the chain decides in the end.
    """
    items = SettlementItem.objects.filter(
        deposit__in=[outflow.deposit_id for outflow in outflows],
        chain=outflows[0].chain,
        token__in={outflow.token for outflow in outflows},
    )
    rows = Settlement.objects.filter(
        Q(tx_hash="", status__in=OPEN_STATUSES)
        | Q(tx_hash=tx_hash, status__in=(*OPEN_STATUSES, SettlementStatus.FAILED)),
        pk__in=items.values("settlement"),
        sender=Sender.WALLET,
    )
    locked = rows.select_for_update(no_key=True).order_by("pk")
    return sorted(locked.prefetch_related("items"), key=lambda one: one.tx_hash)


def _link(outflows: Outflows, settlements: Iterable[Settlement]) -> Outflows:
    """Assign outflows to the settlements with their forwarders; return the rest."""
    owners = {
        (item.deposit_id, item.token): settlement for settlement in settlements for item in settlement.items.all()
    }
    keyed = [(outflow, (outflow.deposit_id, outflow.token)) for outflow in outflows]
    SettledOutflow.objects.bulk_create(
        SettledOutflow(outflow=outflow, settlement=owners[key]) for outflow, key in keyed if key in owners
    )
    return [outflow for outflow, key in keyed if key not in owners]


def _end_wallet(settlement: Settlement, tx_hash: str, now: datetime) -> None:
    """End a wallet's settlement by its outflows. A transaction is final as a whole: it moves nothing more later."""
    came = settlement.outflows.values_list("outflow__deposit")
    moved = dict(came.annotate(units=Sum("outflow__units")))
    if not moved:
        # What moved belongs to another one, with this transaction's hash.
        return
    items = list(settlement.items.all())
    for item in items:
        item.units_moved, item.ended_at = moved.get(item.deposit_id, Decimal(0)), now
    SettlementItem.objects.bulk_update(items, ["units_moved", "ended_at"])
    settlement.units_moved = sum(moved.values(), Decimal(0))
    settlement.status, settlement.settled_at = SettlementStatus.SETTLED, now
    settlement.tx_hash, settlement.error = tx_hash, ""
    settlement.save()


def _note_strangers(tx_hash: str, outflows: Outflows) -> None:
    groups: dict[tuple[int, str, str, str], list[DepositOutflow]] = defaultdict(list)
    for outflow in outflows:
        deposit = outflow.deposit
        key = deposit.merchant_id, deposit.purpose, outflow.token, outflow.recipient
        groups[key].append(outflow)
    for group in groups.values():
        _write_stranger(tx_hash, group)
    # Of the whole transaction at once: checkouts are locked in one order.
    tell_of_flushes({bytes(outflow.deposit.nonce) for outflow in outflows})


def _write_stranger(tx_hash: str, group: Outflows) -> None:
    first = group[0]
    units = sum((outflow.units for outflow in group), Decimal(0))
    settlement = Settlement.objects.create(
        merchant_id=first.deposit.merchant_id,
        mode=first.deposit.mode,
        purpose=first.deposit.purpose,
        chain=first.chain,
        token=first.token,
        to=first.recipient,
        units=units,
        units_moved=units,
        status=SettlementStatus.SETTLED,
        sender=Sender.EXTERNAL,
        tx_hash=tx_hash,
        created_at=first.block_time,
        settled_at=first.confirmed_at,
    )
    by_deposit: dict[int, Decimal] = defaultdict(Decimal)
    for outflow in group:
        by_deposit[outflow.deposit_id] += outflow.units
    SettlementItem.objects.bulk_create(
        SettlementItem(
            settlement=settlement,
            deposit_id=deposit_id,
            chain=first.chain,
            token=first.token,
            units=moved,
            units_moved=moved,
            ended_at=first.confirmed_at,
        )
        for deposit_id, moved in by_deposit.items()
    )
    _link(group, [settlement])
    log.info("a stranger flushed", settlement=settlement.public_id, tx=tx_hash)
