"""Records batches' results: the token's own events decide, and failed forwarders are retried with delays."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet

from settlements.gas.node import GasReceipt
from settlements.models import GasTransaction, Settlement, SettlementItem, TroubledForwarder
from settlements.states import SettlementStatus
from settlements.sweeps.plan import FACTORY
from wallets.chains.base import MalformedAnswerError
from wallets.chains.evm.decode import TRANSFER
from wallets.forwarders.addresses import keccak
from wallets.models import DepositOutflow
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

OPEN_STATUSES: Final = (SettlementStatus.PENDING, SettlementStatus.SENT)

# After each failure; after the last one a person must look.
RETRY_AFTER: Final = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1))

_FLUSH_FAILED: Final = "0x" + keccak(b"FlushFailed(address,address,address)").hex()
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_EVENT_TOPICS: Final = 4
_TRANSFER_TOPICS: Final = 3
# Blocks' clocks are not ours, and an outflow just before this was written was not known yet.
_BEFORE: Final = timedelta(days=1)
_MOST_UNITS: Final = 2**256 - 1

Move = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """A final receipt's content: the contract's units by token, sender and recipient (lower-case hex), and failed items."""

    moved: Mapping[Move, int]
    failed: frozenset[str]
    succeeded: bool


def open_settlements(batch: str) -> QuerySet[Settlement]:
    """Return a batch's open settlements."""
    rows = Settlement.objects.filter(batch=batch, status__in=OPEN_STATUSES)
    return rows.order_by("pk")


@transaction.atomic
def record_outcome(batch: str, made: GasTransaction, receipt: GasReceipt, *, now: datetime) -> int:
    """Record the amounts that a final receipt shows as arrived; return how many settlements ended. Raises MalformedAnswerError.

    The token's own Transfer events decide, never the transaction's status. A forwarder that a third party emptied first has
    not failed: its money is where it should be.
    """
    told = read_receipt(receipt)
    rows = list(open_settlements(batch).select_for_update(no_key=True))
    for settlement in rows:
        _end(settlement, told, receipt.tx_hash, now)
    log.info("batch ended", batch=batch, tx=receipt.tx_hash, gas=made.gas_used)
    return len(rows)


@transaction.atomic
def fail_batch(batch: str, error: str, *, now: datetime, is_trouble: bool) -> int:
    """End a batch that moved nothing, so that its forwarders are planned again; return how many settlements ended.

    If the forwarders may be at fault (`is_trouble`), they are not retried at once.
    """
    rows = list(open_settlements(batch).select_for_update(no_key=True))
    for settlement in rows:
        items = list(settlement.items.filter(ended_at=None))
        if is_trouble:
            note_trouble(items, now=now)
        settlement.items.filter(ended_at=None).update(ended_at=now, units_moved=0)
        settlement.status, settlement.error = SettlementStatus.FAILED, error
        settlement.save(update_fields=["status", "error"])
    return len(rows)


def _end(settlement: Settlement, told: SweepOutcome, tx_hash: str, now: datetime) -> None:
    token = chain_spec(settlement.chain).tokens[settlement.token]
    items = list(settlement.items.select_related("deposit"))
    failed = []
    for item in items:
        forwarder = str(item.deposit)
        moved = told.moved.get((token.address.lower(), forwarder, settlement.to.lower()), 0)
        item.units_moved, item.ended_at = Decimal(token.recorded_units(moved)), now
        if not moved and (forwarder in told.failed or not _was_emptied(item)):
            failed.append(item)
    SettlementItem.objects.bulk_update(items, ["units_moved", "ended_at"])
    note_trouble(failed, now=now)
    forget_trouble(settlement.chain, [item.deposit_id for item in items if item.units_moved])
    total = sum(int(item.units_moved or 0) for item in items)
    settlement.units_moved, settlement.tx_hash = Decimal(total), tx_hash
    settlement.settled_at = now if total else None
    settlement.status = SettlementStatus.SETTLED if total else SettlementStatus.FAILED
    settlement.error = "" if total else _why_nothing(told, failed)
    settlement.save()


def _why_nothing(told: SweepOutcome, failed: Sequence[SettlementItem]) -> str:
    if not told.succeeded:
        return "The transaction was reverted: nothing moved."
    if failed:
        return "The forwarders sent nothing: the token refused, or they were empty."
    return "Another account sent the money first, so nothing was left to move."


def note_trouble(items: Sequence[SettlementItem], *, now: datetime) -> None:
    """Count a failure of each forwarder, and skip it for a while."""
    for item in items:
        trouble, _ = TroubledForwarder.objects.select_for_update().get_or_create(
            deposit_id=item.deposit_id,
            chain=item.chain,
            token=item.token,
            defaults={"failures": 0, "failed_at": now, "retry_at": now},
        )
        trouble.failures += 1
        wait = RETRY_AFTER[min(trouble.failures, len(RETRY_AFTER)) - 1]
        trouble.failed_at, trouble.retry_at = now, now + wait
        trouble.save()
        log.error("a forwarder was not emptied", deposit=item.deposit_id, chain=item.chain, failures=trouble.failures)


def forget_trouble(chain: str, deposits: Sequence[int]) -> None:
    """Reset the failures of forwarders that were emptied."""
    TroubledForwarder.objects.filter(chain=chain, deposit__in=deposits).delete()


def _was_emptied(item: SettlementItem) -> bool:
    """Whether a third party emptied it. Otherwise gas was spent for nothing."""
    return DepositOutflow.objects.filter(
        deposit=item.deposit_id,
        chain=item.chain,
        token=item.token,
        block_time__gte=item.settlement.created_at - _BEFORE,
    ).exists()


def read_receipt(receipt: GasReceipt) -> SweepOutcome:
    """Parse a receipt's events. Raises MalformedAnswerError for impossible amounts."""
    moved: dict[Move, int] = defaultdict(int)
    failed = set()
    for entry in receipt.logs:
        words = _words(entry)
        if words is None:
            continue
        emitter, topics, data = words
        if topics[0] == TRANSFER and len(topics) == _TRANSFER_TOPICS and data:
            move = emitter, _address(topics[1]), _address(topics[2])
            moved[move] += int(data, 16)
        if topics[0] == _FLUSH_FAILED and emitter == FACTORY.lower():
            failed.add(_address(topics[1]))
    if any(units > _MOST_UNITS for units in moved.values()):
        raise MalformedAnswerError("a receipt tells of more than any token has")
    return SweepOutcome(moved, frozenset(failed), receipt.succeeded)


def _words(entry: Mapping[str, Any]) -> tuple[str, list[str], str] | None:
    """Return a log's emitter, topics and data if it may concern us: indexed events with at most one word of data."""
    emitter, topics, data = entry.get("address"), entry.get("topics"), entry.get("data")
    if not isinstance(emitter, str) or not isinstance(topics, list):
        return None
    if not _TRANSFER_TOPICS <= len(topics) <= _EVENT_TOPICS:
        return None
    if not all(isinstance(part, str) and _WORD.fullmatch(part) for part in topics):
        return None
    word = data if isinstance(data, str) and _WORD.fullmatch(data) else ""
    return emitter.lower(), [topic.lower() for topic in topics], word


def _address(topic: str) -> str:
    return "0x" + topic[-40:]
