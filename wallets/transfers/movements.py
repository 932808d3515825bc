"""Writes movements of watched wallets, and outflows of deposit addresses. They never credit anything.

A change of a movement queues it (`queued_at`) and wakes its consumers after commit, if a payout was ever expected at its wallet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import orjson
from django.conf import settings
from django.db import connection, transaction

from accounts.states import Mode
from wallets.chains.base import TokenTransfer
from wallets.models import WatchedMovement
from wallets.states import Direction, TransferState
from wallets.transfers.service import NewTransfer, record_transfers, ring_once, start_tasks


@dataclass(frozen=True, slots=True)
class NewMovement:
    """A movement of a watched wallet, from its chain; or a simulated one of test mode."""

    wallet_id: int
    merchant_id: int
    direction: Direction
    told: TokenTransfer
    mode: Mode = Mode.LIVE


@dataclass(frozen=True, slots=True)
class NewOutflow:
    """A deposit address's outflow, from its chain."""

    deposit_id: int
    told: TokenTransfer


# Whether reports have the money already is queried in the same transaction, after the payments: a payment of this merchant
# from the same log, or an outflow of this merchant's own deposit address. Another merchant who watches the wallet has
# neither in any report. A reorg may give a transaction another recipient.
#
# Only movements of wallets at which a payout was expected are queued, and keep their labels: the others have no consumer.
_RECORD_MOVEMENTS: Final = """
    INSERT INTO wallets_watchedmovement (
        wallet_id, merchant_id, mode, direction, chain, tx_hash, position, token, token_address, units, counterparty,
        block_height, block_hash, block_time, is_payment, state, detected_at, queued_at, labels)
    SELECT n.wallet_id, n.merchant_id, n.mode, n.direction, n.chain, n.tx_hash, n.position, n.token,
        n.token_address, n.units, CASE n.direction WHEN 'in' THEN n.sender ELSE n.recipient END,
        n.block_height, n.block_hash, n.block_time,
        n.direction = 'in' AND (
            EXISTS (
                SELECT FROM wallets_transfer t
                WHERE (t.chain, t.tx_hash, t.position, t.recipient, t.token)
                    = (n.chain, n.tx_hash, n.position, n.recipient, n.token) AND t.merchant_id = n.merchant_id)
            OR EXISTS (
                SELECT FROM wallets_depositaddress d
                WHERE d.key = n.sender_key AND d.mode = n.mode AND d.merchant_id = n.merchant_id)),
        'detected', %(now)s::timestamptz, CASE WHEN followed.id IS NOT NULL THEN %(now)s::timestamptz END,
        CASE WHEN followed.id IS NOT NULL THEN n.labels END
    FROM unnest(
        %(wallet_id)b::bigint[], %(merchant_id)b::bigint[], %(mode)b::text[], %(direction)b::text[], %(chain)b::text[],
        %(tx_hash)b::text[], %(position)b::int[], %(token)b::text[], %(token_address)b::text[], %(units)s::numeric[],
        %(sender)b::text[], %(recipient)b::text[], %(sender_key)b::bytea[], %(block_height)b::bigint[],
        %(block_hash)b::text[], %(block_time)b::timestamptz[], %(labels)s::jsonb[])
        WITH ORDINALITY AS n(
        wallet_id, merchant_id, mode, direction, chain, tx_hash, position, token, token_address, units, sender, recipient,
        sender_key, block_height, block_hash, block_time, labels, place)
    LEFT JOIN wallets_watchedwallet followed ON followed.id = n.wallet_id AND followed.expected_until IS NOT NULL
    ORDER BY n.place
    ON CONFLICT (wallet_id, tx_hash, position, token, direction) DO UPDATE SET
        token_address = EXCLUDED.token_address, units = EXCLUDED.units, counterparty = EXCLUDED.counterparty,
        is_payment = EXCLUDED.is_payment, block_height = EXCLUDED.block_height, block_hash = EXCLUDED.block_hash,
        block_time = EXCLUDED.block_time, state = 'detected', orphaned_at = NULL, confirmed_at = NULL,
        queued_at = EXCLUDED.queued_at, labels = EXCLUDED.labels, witness_answered_at = NULL
    WHERE wallets_watchedmovement.state = 'orphaned'
       OR wallets_watchedmovement.state = 'detected' AND wallets_watchedmovement.block_hash <> EXCLUDED.block_hash
    RETURNING id, queued_at IS NOT NULL
"""
_RECORD_OUTFLOWS: Final = """
    INSERT INTO wallets_depositoutflow (
        deposit_id, chain, tx_hash, position, token, units, recipient, block_height, block_hash, block_time, state,
        detected_at)
    SELECT n.*, 'detected', %(now)s::timestamptz
    FROM unnest(
        %(deposit_id)b::bigint[], %(chain)b::text[], %(tx_hash)b::text[], %(position)b::int[], %(token)b::text[],
        %(units)s::numeric[], %(recipient)b::text[], %(block_height)b::bigint[], %(block_hash)b::text[],
        %(block_time)b::timestamptz[]) AS n
    ON CONFLICT (chain, tx_hash, position, deposit_id, token) DO UPDATE SET
        units = EXCLUDED.units, recipient = EXCLUDED.recipient, block_height = EXCLUDED.block_height,
        block_hash = EXCLUDED.block_hash, block_time = EXCLUDED.block_time,
        state = 'detected', orphaned_at = NULL, confirmed_at = NULL
    WHERE wallets_depositoutflow.state = 'orphaned'
       OR wallets_depositoutflow.state = 'detected' AND wallets_depositoutflow.block_hash <> EXCLUDED.block_hash
    RETURNING id
"""
_TOLD_COLUMNS: Final = (
    "chain",
    "tx_hash",
    "position",
    "token",
    "token_address",
    "sender",
    "recipient",
    "sender_key",
    "block_height",
    "block_hash",
    "block_time",
)


def record_movements(movements: Iterable[NewMovement], *, now: datetime) -> list[int]:
    """Write movements in the caller's transaction or one of its own, after its transfers; return ids of new and revived ones.

    Idempotent; one that a reorg had orphaned is revived in its new block.
    """
    once = {
        (one.wallet_id, one.told.tx_hash, one.told.position, one.told.token, one.direction): one for one in movements
    }
    found = list(once.values())
    columns: dict[str, Any] = {
        "wallet_id": [one.wallet_id for one in found],
        "merchant_id": [one.merchant_id for one in found],
        "mode": [one.mode.value for one in found],
        "direction": [one.direction.value for one in found],
        "labels": [orjson.dumps(one.told.labels).decode() for one in found],
    }
    told = [one.told for one in found]
    rows = _record(_RECORD_MOVEMENTS, columns, told, now=now)
    if any(is_queued for _, is_queued in rows):
        ring_once(ring_consumers)
    return [pk for pk, _ in rows]


def record_outflows(outflows: Iterable[NewOutflow], *, now: datetime) -> list[int]:
    """Write outflows of deposit addresses, as `record_movements` does; return the ids of new and revived ones."""
    found = list(outflows)
    columns: dict[str, Any] = {"deposit_id": [one.deposit_id for one in found]}
    return [pk for (pk,) in _record(_RECORD_OUTFLOWS, columns, [one.told for one in found], now=now)]


# Reports add up both tables, and leave out what is a payment.
_COUNTED: Final = """
    UPDATE wallets_watchedmovement m SET is_payment = true
    FROM wallets_transfer t JOIN wallets_watchedwallet w
        ON (w.merchant_id, w.mode, w.chain, w.address) = (t.merchant_id, t.mode, t.chain, t.recipient)
    WHERE t.id = ANY(%(ids)b::bigint[]) AND m.wallet_id = w.id
      AND (m.tx_hash, m.position, m.token, m.direction) = (t.tx_hash, t.position, t.token, 'in') AND NOT m.is_payment
"""


def record_missed(transfers: Sequence[NewTransfer], *, now: datetime) -> list[int]:
    """Write payments that no watcher recorded in time, as `record_transfers` does; return the ids of new and revived ones.

    If a watched wallet's history was read meanwhile, it has them as movements: these are marked as payments now.
    """
    with transaction.atomic():
        ids = record_transfers(transfers, now=now)
        if ids:
            with connection.cursor() as cursor:
                cursor.execute(_COUNTED, {"ids": ids})
    return ids


def _record(
    statement: str, columns: dict[str, Any], told: Sequence[TokenTransfer], *, now: datetime
) -> list[tuple[Any, ...]]:
    if not told:
        return []
    columns |= {name: [getattr(one, name) for one in told] for name in _TOLD_COLUMNS}
    columns["units"] = [Decimal(one.units) for one in told]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, columns | {"now": now})
        return list(cursor)


_QUEUED: Final = """(
        SELECT %(now)s::timestamptz FROM wallets_watchedwallet w
        WHERE w.id = wallet_id AND w.expected_until IS NOT NULL)"""

# Both tables in one query: every pass runs it, and it rarely finds anything.
_COUNT: Final = "SELECT count(*), bool_or(queued_at IS NOT NULL) FROM changed"
_CONFIRM: Final = f"""
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET state = 'confirmed', confirmed_at = %(now)s::timestamptz
        WHERE chain = %(chain)s AND state = 'detected' AND block_height <= %(height)s),
    changed AS (
        UPDATE wallets_watchedmovement
        SET state = 'confirmed', confirmed_at = %(now)s::timestamptz, queued_at = {_QUEUED}
        WHERE chain = %(chain)s AND mode = 'live' AND state = 'detected' AND block_height <= %(height)s
        RETURNING queued_at)
    {_COUNT}
"""  # noqa: S608 - only our own text is put in
_ORPHAN: Final = f"""
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET state = 'orphaned', orphaned_at = %(now)s::timestamptz
        WHERE chain = %(chain)s AND state = ANY(%(states)s) AND block_height > %(height)s),
    changed AS (
        UPDATE wallets_watchedmovement
        SET state = 'orphaned', orphaned_at = %(now)s::timestamptz, queued_at = {_QUEUED}
        WHERE chain = %(chain)s AND mode = 'live' AND state = ANY(%(states)s) AND block_height > %(height)s
        RETURNING queued_at)
    {_COUNT}
"""  # noqa: S608 - only our own text is put in
_DETACH: Final = """
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET block_height = %(height)s
        WHERE chain = %(chain)s AND state = 'confirmed')
    UPDATE wallets_watchedmovement SET block_height = %(height)s
    WHERE chain = %(chain)s AND mode = 'live' AND state = 'confirmed'
"""
_ORPHAN_SOME: Final = f"""
    WITH changed AS (
        UPDATE wallets_watchedmovement
        SET state = 'orphaned', orphaned_at = %(now)s::timestamptz, queued_at = {_QUEUED}
        WHERE id = ANY(%(ids)b::bigint[]) AND mode = %(mode)s AND state <> 'orphaned'
        RETURNING queued_at)
    {_COUNT}
"""  # noqa: S608 - only our own text is put in
_CONFIRM_SOME: Final = f"""
    WITH changed AS (
        UPDATE wallets_watchedmovement
        SET state = 'confirmed', confirmed_at = %(now)s::timestamptz, queued_at = {_QUEUED}
        WHERE id = ANY(%(ids)b::bigint[]) AND mode = %(mode)s AND state = 'detected'
        RETURNING queued_at)
    {_COUNT}
"""  # noqa: S608 - only our own text is put in


def confirm_movements(chain: str, height: int, *, now: datetime) -> None:
    """Make a chain's movements and outflows up to `height` final, large ones too: they credit nothing.

    Who needs more than depth asks by `ask_witness_of`.
    """
    _change(_CONFIRM, {"chain": chain, "height": height, "now": now})


def orphan_movements(
    chain: str,
    height: int,
    *,
    now: datetime,
    states: Sequence[TransferState] = (TransferState.DETECTED, TransferState.CONFIRMED),
) -> None:
    """Orphan a chain's movements and outflows above `height`. Their rows stay."""
    values = [state.value for state in states]
    _change(_ORPHAN, {"chain": chain, "height": height, "states": values, "now": now})


def detach_movements(chain: str, height: int) -> None:
    """Set the block of a chain's final movements and outflows to `height`: their chain was replaced."""
    with connection.cursor() as cursor:
        cursor.execute(_DETACH, {"chain": chain, "height": height})


def orphan_lost_movements(ids: Sequence[int], *, now: datetime) -> int:
    """Orphan movements that no node knows any more; return how many."""
    return _change_some(_ORPHAN_SOME, ids, Mode.LIVE, now)


def confirm_simulated_movements(ids: Sequence[int], *, now: datetime) -> int:
    """Make simulated movements final; return how many were not. Live ones are confirmed by their chain alone."""
    return _change_some(_CONFIRM_SOME, ids, Mode.TEST, now)


def orphan_simulated_movements(ids: Sequence[int], *, now: datetime) -> int:
    """Orphan simulated movements, as a reorg does; return how many."""
    return _change_some(_ORPHAN_SOME, ids, Mode.TEST, now)


def _change_some(statement: str, ids: Sequence[int], mode: Mode, now: datetime) -> int:
    return _change(statement, {"ids": list(ids), "mode": mode.value, "now": now}) if ids else 0


def _change(statement: str, parameters: dict[str, Any]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        changed, has_queued = cursor.fetchone()
        if has_queued:
            ring_once(ring_consumers)
        return int(changed)


def ring_consumers() -> None:
    """Start the tasks in MOVEMENT_CONSUMERS."""
    start_tasks(settings.MOVEMENT_CONSUMERS)


def queue_movements(ids: Sequence[int], *, now: datetime) -> int:
    """Queue movements for another processing at `now`, without waking anybody; return how many."""
    return WatchedMovement.objects.filter(pk__in=list(ids)).update(queued_at=now) if ids else 0


def ask_witness_of(movement_id: int, *, now: datetime) -> None:
    """Ask for the word of the chain and a second node about a movement. Their answer queues it again (`LargeAmounts`)."""
    rows = WatchedMovement.objects.filter(pk=movement_id, mode=Mode.LIVE, witness_asked_at=None)
    rows.update(witness_asked_at=now)


# A reorg may have moved a movement while the nodes were asked: their answer is then about another block.
_ANSWER: Final = f"""
    WITH held AS (
        SELECT m.id
        FROM unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS vouched(id, block_hash)
        JOIN wallets_watchedmovement m ON m.id = vouched.id AND m.block_hash = vouched.block_hash
        WHERE m.state <> 'orphaned' ORDER BY m.id FOR NO KEY UPDATE OF m),
    changed AS (
        UPDATE wallets_watchedmovement m
        SET witness_answered_at = %(now)s::timestamptz, state = 'confirmed', queued_at = %(now)s::timestamptz,
            confirmed_at = COALESCE(m.confirmed_at, %(now)s::timestamptz)
        FROM held WHERE m.id = held.id AND m.witness_answered_at IS NULL
        RETURNING m.queued_at)
    {_COUNT}
"""  # noqa: S608 - only our own text is put in


def answer_for_movements(movements: Sequence[WatchedMovement], *, now: datetime) -> int:
    """Make movements final that were vouched for in the block given here; return how many. One that moved meanwhile waits."""
    if not movements:
        return 0
    ids, hashes = [one.pk for one in movements], [one.block_hash for one in movements]
    return _change(_ANSWER, {"ids": ids, "hashes": hashes, "now": now})
