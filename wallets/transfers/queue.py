"""The queue of transfers whose facts changed: process in batches, claim, remove."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import InterfaceError, OperationalError, connection

from wallets.models import Transfer
from wallets.models.transfers import TransferQuerySet
from wallets.states import ClaimKind

log = structlog.get_logger(__name__)

BATCH: Final = 500
SET_ASIDE: Final = timedelta(minutes=1)
"""How far a transfer moves back in the queue if it could not be decided. Each sweep tries it again."""

Decide = Callable[[TransferQuerySet], int]
"""Decides queued transfers in one transaction, removes them from the queue, and returns how many.

It locks them and skips those that another worker has locked.
"""


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


def take_off_queue(
    ids: Sequence[int], *, decided: Sequence[int], postponed: Sequence[int], now: datetime, later: datetime
) -> None:
    """Remove transfers from the queue, whose locks the caller holds; those that are `postponed` return after `later`."""
    parameters = {"ids": ids, "decided": decided, "postponed": postponed}
    _run(_TAKE_OFF, parameters | {"now": now, "later": later})


def put_on_queue(ids: Sequence[int], *, now: datetime) -> int:
    """Queue transfers for another processing; return how many were not queued already."""
    return _run(_PUT_ON, {"ids": ids, "now": now})


def _run(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
