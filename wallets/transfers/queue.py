"""The queue of transfers, as their consumers use it: who dealt with one claims it, and takes it off."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from wallets.states import ClaimKind


def insert_claims(*, transfer: str, kind: ClaimKind, now: str, source: str) -> str:
    """Return SQL that claims transfers, for a part of the caller's statement: the rows and columns of `source`."""
    return f"""
        INSERT INTO wallets_transferclaim (transfer_id, kind, claimed_at)
        SELECT {transfer}, '{kind}', {now} FROM {source}
    """  # noqa: S608 - only our own text is put in


_CLAIM: Final = {
    kind: insert_claims(
        transfer="id",
        kind=kind,
        now="%(now)s::timestamptz",
        source="unnest(%(ids)s::bigint[]) AS t(id)",
    )
    for kind in ClaimKind
}
_TAKE_OFF: Final = """
    UPDATE wallets_transfer
    SET queued_at = CASE WHEN id = ANY(%(postponed)s::bigint[]) THEN %(later)s::timestamptz END,
        decided_at = CASE WHEN id = ANY(%(decided)s::bigint[]) THEN %(now)s::timestamptz ELSE decided_at END
    WHERE id = ANY(%(ids)s::bigint[])
"""
_PUT_ON: Final = """
    UPDATE wallets_transfer SET queued_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)s::bigint[]) AND queued_at IS NULL
"""


def claim_transfers(ids: Sequence[int], kind: ClaimKind, *, now: datetime) -> None:
    """Claim transfers for what they pay; a primary key refuses one that is in use already."""
    _run(_CLAIM[kind], {"ids": ids, "now": now})


def take_off_queue(
    ids: Sequence[int],
    *,
    decided: Sequence[int],
    postponed: Sequence[int],
    now: datetime,
    later: datetime,
) -> None:
    """Take transfers off the queue, whose locks the caller holds; those that are `postponed` come again after `later`."""
    parameters = {"ids": ids, "decided": decided, "postponed": postponed}
    _run(_TAKE_OFF, parameters | {"now": now, "later": later})


def put_on_queue(ids: Sequence[int], *, now: datetime) -> int:
    """Have transfers dealt with once more; return how many were not waiting for it already."""
    return _run(_PUT_ON, {"ids": ids, "now": now})


def _run(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
