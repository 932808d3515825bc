"""Writes transfers, and processes the queue of those whose facts changed.

Every change of a transfer's facts queues it (`queued_at`), and wakes the consumers after commit.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
import structlog
from celery import current_app
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from accounts.states import Mode
from gateway.core.broker import wake_task
from gateway.core.tracing import mark
from wallets.models import Transfer
from wallets.models.transfers import TransferQuerySet
from wallets.networks import chain_spec
from wallets.states import ClaimKind, TransferState, TransferUse

log = structlog.get_logger(__name__)

BATCH: Final = 500
SET_ASIDE: Final = timedelta(minutes=1)
"""How far a transfer moves back in the queue if it could not be decided. Each sweep tries it again."""

Decide = Callable[[TransferQuerySet], int]
"""Decides queued transfers in one transaction, removes them from the queue, and returns how many.

It locks them and skips those that another worker has locked.
"""


@dataclass(frozen=True, slots=True)
class NewTransfer:
    """A token movement to one of our addresses, whose owner is known. `units` are base units."""

    chain: str
    tx_hash: str
    position: int
    token: str
    token_address: str
    units: int
    sender: str
    recipient: str
    deposit_id: int | None
    merchant_id: int
    mode: str
    block_height: int
    block_hash: str
    block_time: datetime
    # Exactly one of `deposit_id` and `wallet_id` is given.
    wallet_id: int | None = None
    labels: tuple[str, ...] = ()
    purpose: str = ClaimKind.CHECKOUT
    is_sum: bool = False


# A known transfer is changed only if a reorg removed it and it came back, or moved it to another block. A transaction may
# act differently when it is mined again, so its facts are read again. Recipient and token are part of its key: a consumer
# may have credited the first one, so a transfer to another recipient is a new one in the queue. A trigger leaves out what is
# recorded as a sum already, or in parts.
_RECORD = """
    INSERT INTO wallets_transfer (
        chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id, merchant_id, mode,
        block_height, block_hash, block_time, wallet_id, labels, purpose, is_sum, state, detected_at, queued_at)
    SELECT n.*, 'detected', %(now)s::timestamptz, %(now)s::timestamptz
    FROM unnest(
        %(chain)b::text[], %(tx_hash)b::text[], %(position)b::int[], %(token)b::text[], %(token_address)b::text[],
        %(units)s::numeric[], %(sender)b::text[], %(recipient)b::text[], %(deposit_id)b::bigint[],
        %(merchant_id)b::bigint[], %(mode)b::text[], %(block_height)b::bigint[], %(block_hash)b::text[],
        %(block_time)b::timestamptz[], %(wallet_id)b::bigint[], %(labels)s::jsonb[], %(purpose)b::text[],
        %(is_sum)b::boolean[]) AS n
    ON CONFLICT (chain, tx_hash, position, recipient, token) DO UPDATE SET
        token_address = EXCLUDED.token_address, units = EXCLUDED.units, sender = EXCLUDED.sender,
        block_height = EXCLUDED.block_height, block_hash = EXCLUDED.block_hash, block_time = EXCLUDED.block_time,
        labels = EXCLUDED.labels, is_sum = EXCLUDED.is_sum, witnessed_at = NULL,
        state = 'detected', orphaned_at = NULL, confirmed_at = NULL, queued_at = EXCLUDED.queued_at
    WHERE wallets_transfer.state = 'orphaned'
       OR wallets_transfer.state = 'detected' AND wallets_transfer.block_hash <> EXCLUDED.block_hash
    RETURNING id
"""


def record_transfers(transfers: Sequence[NewTransfer], *, now: datetime) -> list[int]:
    """Write transfers in the caller's transaction or one of its own; return the ids of new and revived ones.

    Idempotent; one that a reorg had orphaned is revived in its new block.
    """
    if not transfers:
        return []
    columns: dict[str, Any] = {
        name: [getattr(transfer, name) for transfer in transfers] for name in NewTransfer.__dataclass_fields__
    }
    columns["units"] = [Decimal(transfer.units) for transfer in transfers]
    columns["labels"] = [orjson.dumps(transfer.labels).decode() for transfer in transfers]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_RECORD, columns | {"now": now})
        ids = [pk for (pk,) in cursor]
        if ids:
            ring_after_commit()
    for pk in ids:
        mark("payment seen", transfer_subject(pk), began=now, is_first=True)
    return ids


def transfer_subject(pk: int) -> str:
    """Return the subject of a transfer's trace: its checkout is not known when the transfer is written."""
    return f"transfer {pk}"


_CONFIRM = """
    UPDATE wallets_transfer
    SET state = 'confirmed', confirmed_at = %(now)s::timestamptz, queued_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)b::bigint[]) AND mode = %(mode)s AND state = 'detected'
"""


_ORPHAN = """
    UPDATE wallets_transfer
    SET state = 'orphaned', orphaned_at = %(now)s::timestamptz, queued_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)b::bigint[]) AND mode = %(mode)s AND state <> 'orphaned'
"""


_REVIVE = """
    UPDATE wallets_transfer
    SET state = 'detected', orphaned_at = NULL, confirmed_at = NULL, queued_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)b::bigint[]) AND mode = %(mode)s AND state = 'orphaned'
"""


def confirm_transfers(ids: Sequence[int], *, now: datetime) -> int:
    """Make simulated transfers final; return how many were not. Live ones are confirmed by their chain alone."""
    return _change(_CONFIRM, ids, now)


def orphan_transfers(ids: Sequence[int], *, now: datetime) -> int:
    """Orphan simulated transfers, as a reorg does; return how many."""
    return _change(_ORPHAN, ids, now)


def orphan_lost(ids: Sequence[int], *, now: datetime) -> int:
    """Orphan live transfers that no node knows any more; return how many."""
    return _change(_ORPHAN, ids, now, mode=Mode.LIVE)


def revive_transfers(ids: Sequence[int], *, now: datetime) -> int:
    """Bring orphaned simulated transfers back, unconfirmed; return how many came."""
    return _change(_REVIVE, ids, now)


def _change(statement: str, ids: Sequence[int], now: datetime, *, mode: Mode = Mode.TEST) -> int:
    if not ids:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, {"ids": list(ids), "mode": mode.value, "now": now})
        changed: int = cursor.rowcount
        if changed:
            ring_after_commit()
        return changed


_ASK_WITNESSES = """
    INSERT INTO wallets_witnessrequest (transfer_id, block_hash, asked_at)
    SELECT id, block_hash, %(now)s::timestamptz FROM wallets_transfer WHERE id = ANY(%(ids)b::bigint[])
    ON CONFLICT (transfer_id) DO UPDATE SET
        block_hash = EXCLUDED.block_hash, asked_at = EXCLUDED.asked_at, answered_at = NULL
    WHERE wallets_witnessrequest.block_hash <> EXCLUDED.block_hash
"""


def ask_witnesses(ids: Sequence[int], *, now: datetime) -> None:
    """Ask for a second node's confirmation of transfers as they are recorded now. Its answer queues them again."""
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_ASK_WITNESSES, {"ids": list(ids), "now": now})


_CONFIRM_THROUGH = """
    UPDATE wallets_transfer
    SET state = 'confirmed', confirmed_at = %(now)s::timestamptz, queued_at = %(now)s::timestamptz
    WHERE chain = %(chain)s AND mode = 'live' AND state = 'detected' AND block_height <= %(height)s
      AND (%(large)s::numeric IS NULL OR units < %(large)s::numeric OR token = ANY(%(finer)s))
"""


_ORPHAN_ABOVE = """
    UPDATE wallets_transfer
    SET state = 'orphaned', orphaned_at = %(now)s::timestamptz, queued_at = %(now)s::timestamptz
    WHERE chain = %(chain)s AND mode = 'live' AND state = ANY(%(states)s) AND block_height > %(height)s
"""


def confirm_through(chain: str, height: int, *, now: datetime) -> int:
    """Make a chain's ordinary transfers up to `height` final; return how many became so.

    Large ones need more than depth: `wallets.reconciliation.confirmation` confirms them.
    """
    spec = chain_spec(chain)
    limits = {"large": spec.large_units, "finer": spec.finer_tokens}
    return _change_range(_CONFIRM_THROUGH, {"chain": chain, "height": height, "now": now} | limits)


def orphan_above(
    chain: str,
    height: int,
    *,
    now: datetime,
    states: Sequence[TransferState] = (TransferState.DETECTED, TransferState.CONFIRMED),
) -> int:
    """Orphan a chain's transfers above `height`; return how many were lost. Their rows stay."""
    values = [state.value for state in states]
    return _change_range(_ORPHAN_ABOVE, {"chain": chain, "height": height, "states": values, "now": now})


def _change_range(statement: str, parameters: dict[str, Any]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        changed: int = cursor.rowcount
        if changed:
            ring_after_commit()
        return changed


def ring_after_commit() -> None:
    """Wake the consumers once the caller's transaction is committed, once per transaction."""
    ring_once(ring_consumers)


def ring_once(ring: Callable[[], None]) -> None:
    """Call `ring` once the caller's transaction is committed, once per transaction."""
    waiting = transaction.get_connection().run_on_commit
    if all(callback is not ring for _, callback, _ in waiting):
        transaction.on_commit(ring, robust=True)


def ring_consumers() -> None:
    """Start the tasks in TRANSFER_CONSUMERS."""
    start_tasks(settings.TRANSFER_CONSUMERS)


def start_tasks(names: Sequence[str]) -> None:
    """Start Celery tasks; without a broker, run them in this process."""
    for name in names:
        if not wake_task(name):
            _run_here(name)


def _run_here(name: str) -> None:
    if name not in current_app.tasks:
        # Workers import their tasks at start; other processes only when they need one.
        current_app.loader.import_default_modules()
    result = current_app.tasks[name].apply()
    if result.failed():
        log.error("consumer failed", task=name, error=type(result.result).__name__)


def process_queue(purpose: ClaimKind, decide: Decide, *, now: datetime, batch: int = BATCH) -> int:
    """Decide every queued transfer of a purpose; return how many there were. Safe to run concurrently.

    Transfers that another worker has locked are left for the next run.
    """
    total = 0
    while decided := _process_batch(purpose, decide, now=now, batch=batch):
        total += decided
    return total


def _process_batch(purpose: ClaimKind, decide: Decide, *, now: datetime, batch: int) -> int:
    """Decide a batch; if that fails, decide each of its transfers alone, so that a failing one blocks no other merchant."""
    queued = Transfer.objects.queued(purpose)
    try:
        return decide(queued[:batch])
    except (OperationalError, InterfaceError):
        raise  # the server is down, or another worker interfered: no row is at fault
    except Exception:
        log.exception("a batch of transfers failed; taking them one by one")
        keys = list(queued.values_list("pk", flat=True)[:batch])
        return sum(_process_one(queued.filter(pk=pk), decide, pk, now) for pk in keys)


def _process_one(queued: TransferQuerySet, decide: Decide, pk: int, now: datetime) -> int:
    try:
        return decide(queued)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("transfer set aside", transfer=pk)
        Transfer.objects.filter(pk=pk).update(queued_at=now + SET_ASIDE)
        return 0


def insert_claims(*, transfer: str, kind: ClaimKind, now: str, source: str) -> str:
    """Return SQL that claims transfers, as part of the caller's statement: the rows and columns of `source`."""
    return f"""
        INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
        SELECT {transfer}, '{kind}', {now} FROM {source}
    """  # noqa: S608 - only our own text is put in


_CLAIM: Final = {
    kind: insert_claims(
        transfer="id", kind=kind, now="%(now)s::timestamptz", source="unnest(%(ids)b::bigint[]) AS t(id)"
    )
    for kind in ClaimKind
}


_TAKE_OFF: Final = """
    UPDATE wallets_transfer
    SET queued_at = CASE WHEN id = ANY(%(postponed)b::bigint[]) THEN %(later)s::timestamptz END,
        decided_at = CASE WHEN id = ANY(%(decided)b::bigint[]) THEN %(now)s::timestamptz ELSE decided_at END
    WHERE id = ANY(%(ids)b::bigint[])
"""


_PUT_ON: Final = """
    UPDATE wallets_transfer SET queued_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)b::bigint[]) AND queued_at IS NULL
"""


def claim_transfers(ids: Sequence[int], kind: ClaimKind, *, now: datetime) -> None:
    """Claim transfers for their use; a primary key refuses a second claim."""
    _run(_CLAIM[kind], {"ids": ids, "now": now})


_CLAIM_FOR_REFUND: Final = f"""
    INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
    SELECT id, '{TransferUse.REFUND}', %(now)s::timestamptz FROM wallets_transfer
    WHERE id = ANY(%(ids)b::bigint[]) AND purpose = '{ClaimKind.X402}' AND state = '{TransferState.CONFIRMED}'
    ORDER BY id
    ON CONFLICT DO NOTHING
"""  # noqa: S608 - only our own text is put in


def claim_for_refund(ids: Collection[int], *, now: datetime) -> None:
    """Claim those of transfers that are final, came to an address for machines and paid for nothing: no proof uses them from then on.

    In the caller's transaction, before it locks them: who proves a payment claims its transfer first, too, so neither waits for the other
    in a circle.
    """
    _run(_CLAIM_FOR_REFUND, {"ids": list(ids), "now": now})


def take_off_queue(
    ids: Sequence[int], *, decided: Sequence[int], postponed: Sequence[int], now: datetime, later: datetime
) -> None:
    """Remove transfers from the queue; the caller holds their locks. Those that are `postponed` come back at `later`."""
    parameters = {"ids": ids, "decided": decided, "postponed": postponed}
    _run(_TAKE_OFF, parameters | {"now": now, "later": later})


def put_on_queue(ids: Sequence[int], *, now: datetime) -> int:
    """Queue transfers for another processing; return how many were not queued already."""
    return _run(_PUT_ON, {"ids": ids, "now": now})


def _run(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
