"""Writes movements of watched wallets, and outflows of deposit addresses. They never credit anything."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from wallets.chains.base import TokenTransfer
from wallets.states import Direction, TransferState


@dataclass(frozen=True, slots=True)
class NewMovement:
    """A movement of a watched wallet for real money, from its chain."""

    wallet_id: int
    merchant_id: int
    direction: Direction
    told: TokenTransfer


@dataclass(frozen=True, slots=True)
class NewOutflow:
    """A deposit address's outflow, from its chain."""

    deposit_id: int
    told: TokenTransfer


# Whether reports have the money already is queried in the same transaction, after the payments: a payment of this merchant
# from the same log, or an outflow of this merchant's own deposit address. Another merchant who watches the wallet has
# neither in any report. A reorg may give a transaction another recipient.
_RECORD_MOVEMENTS: Final = """
    INSERT INTO wallets_watchedmovement (
        wallet_id, merchant_id, mode, direction, chain, tx_hash, position, token, token_address, units, counterparty,
        block_height, block_hash, block_time, is_payment, state, detected_at)
    SELECT n.wallet_id, n.merchant_id, 'live', n.direction, n.chain, n.tx_hash, n.position, n.token, n.token_address,
        n.units, CASE n.direction WHEN 'in' THEN n.sender ELSE n.recipient END,
        n.block_height, n.block_hash, n.block_time,
        n.direction = 'in' AND (
            EXISTS (
                SELECT FROM wallets_transfer t
                WHERE (t.chain, t.tx_hash, t.position, t.recipient, t.token)
                    = (n.chain, n.tx_hash, n.position, n.recipient, n.token) AND t.merchant_id = n.merchant_id)
            OR EXISTS (
                SELECT FROM wallets_depositaddress d
                WHERE d.key = n.sender_key AND d.mode = 'live' AND d.merchant_id = n.merchant_id)),
        'detected', %(now)s::timestamptz
    FROM unnest(
        %(wallet_id)b::bigint[], %(merchant_id)b::bigint[], %(direction)b::text[], %(chain)b::text[],
        %(tx_hash)b::text[], %(position)b::int[], %(token)b::text[], %(token_address)b::text[], %(units)s::numeric[],
        %(sender)b::text[], %(recipient)b::text[], %(sender_key)b::bytea[], %(block_height)b::bigint[],
        %(block_hash)b::text[], %(block_time)b::timestamptz[]) AS n(
        wallet_id, merchant_id, direction, chain, tx_hash, position, token, token_address, units, sender, recipient,
        sender_key, block_height, block_hash, block_time)
    ON CONFLICT (wallet_id, tx_hash, position, token, direction) DO UPDATE SET
        token_address = EXCLUDED.token_address, units = EXCLUDED.units, counterparty = EXCLUDED.counterparty,
        is_payment = EXCLUDED.is_payment, block_height = EXCLUDED.block_height, block_hash = EXCLUDED.block_hash,
        block_time = EXCLUDED.block_time, state = 'detected', orphaned_at = NULL, confirmed_at = NULL
    WHERE wallets_watchedmovement.state = 'orphaned'
       OR wallets_watchedmovement.state = 'detected' AND wallets_watchedmovement.block_hash <> EXCLUDED.block_hash
    RETURNING id
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
        "direction": [one.direction.value for one in found],
    }
    told = [one.told for one in found]
    return _record(_RECORD_MOVEMENTS, columns, told, now=now)


def record_outflows(outflows: Iterable[NewOutflow], *, now: datetime) -> list[int]:
    """Write outflows of deposit addresses, as `record_movements` does; return the ids of new and revived ones."""
    found = list(outflows)
    columns: dict[str, Any] = {"deposit_id": [one.deposit_id for one in found]}
    return _record(_RECORD_OUTFLOWS, columns, [one.told for one in found], now=now)


def _record(statement: str, columns: dict[str, Any], told: Sequence[TokenTransfer], *, now: datetime) -> list[int]:
    if not told:
        return []
    columns |= {name: [getattr(one, name) for one in told] for name in _TOLD_COLUMNS}
    columns["units"] = [Decimal(one.units) for one in told]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, columns | {"now": now})
        return [pk for (pk,) in cursor]


# Both tables in one query: every pass runs it, and it rarely finds anything.
_CONFIRM: Final = """
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET state = 'confirmed', confirmed_at = %(now)s::timestamptz
        WHERE chain = %(chain)s AND state = 'detected' AND block_height <= %(height)s)
    UPDATE wallets_watchedmovement SET state = 'confirmed', confirmed_at = %(now)s::timestamptz
    WHERE chain = %(chain)s AND mode = 'live' AND state = 'detected' AND block_height <= %(height)s
"""
_ORPHAN: Final = """
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET state = 'orphaned', orphaned_at = %(now)s::timestamptz
        WHERE chain = %(chain)s AND state = ANY(%(states)s) AND block_height > %(height)s)
    UPDATE wallets_watchedmovement SET state = 'orphaned', orphaned_at = %(now)s::timestamptz
    WHERE chain = %(chain)s AND mode = 'live' AND state = ANY(%(states)s) AND block_height > %(height)s
"""
_DETACH: Final = """
    WITH outflows AS (
        UPDATE wallets_depositoutflow SET block_height = %(height)s
        WHERE chain = %(chain)s AND state = 'confirmed')
    UPDATE wallets_watchedmovement SET block_height = %(height)s
    WHERE chain = %(chain)s AND mode = 'live' AND state = 'confirmed'
"""
_ORPHAN_LOST: Final = """
    UPDATE wallets_watchedmovement SET state = 'orphaned', orphaned_at = %(now)s::timestamptz
    WHERE id = ANY(%(ids)b::bigint[]) AND mode = 'live' AND state <> 'orphaned'
"""


def confirm_movements(chain: str, height: int, *, now: datetime) -> None:
    """Make a chain's movements and outflows up to `height` final, large ones too: they credit nothing."""
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
    _change(_DETACH, {"chain": chain, "height": height})


def orphan_lost_movements(ids: Sequence[int], *, now: datetime) -> int:
    """Orphan movements that no node knows any more; return how many."""
    return _change(_ORPHAN_LOST, {"ids": list(ids), "now": now}) if ids else 0


def _change(statement: str, parameters: dict[str, Any]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        changed: int = cursor.rowcount
        return changed
