"""Reads watched wallets' balances: when they are added, after a movement, and once a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from wallets.chains.base import Holdings, HoldingsReader
from wallets.chains.specs import ChainSpec
from wallets.watched.turns import check_lease

AT_LEAST_EVERY: Final = timedelta(days=1)

# An older movement is already in the balance, so it need not be read again.
_RECENT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DueBalance:
    """A watched wallet whose balance is due."""

    wallet_id: int
    key: bytes
    address: str


class Balances:
    """Reads balances on one chain: never read ones first, then the oldest."""

    def __init__(self, spec: ChainSpec, holdings: HoldingsReader, *, owner: str) -> None:
        self._spec = spec
        self._holdings = holdings
        self._owner = owner

    def due(self, *, now: datetime) -> list[DueBalance]:
        """Return the due wallets, as many as fit one request."""
        parameters: dict[str, Any] = {
            "chain": self._spec.name,
            "since": now - AT_LEAST_EVERY,
            "blocks": int(_RECENT.total_seconds() / self._spec.block_seconds),
            "most": self._holdings.at_once,
        }
        with connection.cursor() as cursor:
            cursor.execute(_DUE, parameters)
            return [DueBalance(pk, bytes(key), name) for pk, key, name in cursor]

    def read(self, due: Sequence[DueBalance], *, genesis: str, now: datetime) -> None:
        """Read and write these balances. Raises ChainError, LeaseLostError."""
        held = self._holdings.read({one.key: one.address for one in due})
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            _write(due, held, is_local=self._spec.is_local, now=now)


_DUE = """
    WITH moved AS (
        SELECT DISTINCT m.wallet_id FROM wallets_watchedmovement m
        JOIN wallets_watchedbalance b ON b.wallet_id = m.wallet_id AND b.token = m.token AND b.height < m.block_height
        WHERE m.chain = %(chain)s AND m.mode = 'live' AND m.block_height > (
            SELECT height - %(blocks)s FROM wallets_chaincursor WHERE chain = %(chain)s))
    SELECT w.id, w.key, w.address
    FROM wallets_watchedwallet w
    CROSS JOIN LATERAL (
        SELECT min(b.read_at) AS read_at FROM wallets_watchedbalance b WHERE b.wallet_id = w.id) held
    WHERE w.chain = %(chain)s AND w.mode = 'live' AND w.removed_at IS NULL
      AND (held.read_at IS NULL OR held.read_at <= %(since)s OR w.id IN (SELECT wallet_id FROM moved))
    ORDER BY held.read_at NULLS FIRST, w.id LIMIT %(most)s
"""
# A lagging node must not overwrite a newer balance; a local chain may have been reset.
_WRITE = """
    INSERT INTO wallets_watchedbalance AS known (wallet_id, token, units, height, read_at)
    SELECT n.wallet_id, n.token, n.units, %(height)s, %(now)s::timestamptz
    FROM unnest(%(wallets)s::bigint[], %(tokens)s::text[], %(units)s::numeric[]) AS n(wallet_id, token, units)
    ON CONFLICT (wallet_id, token) DO UPDATE
    SET units = EXCLUDED.units, height = EXCLUDED.height, read_at = EXCLUDED.read_at
    WHERE EXCLUDED.height >= known.height OR %(is_local)s
"""


def _write(due: Sequence[DueBalance], held: Holdings, *, is_local: bool, now: datetime) -> None:
    rows = [(one.wallet_id, token, Decimal(units)) for one in due for token, units in held.units[one.key].items()]
    wallets, tokens, amounts = (list(column) for column in zip(*rows, strict=True))
    parameters: dict[str, Any] = {
        "wallets": wallets,
        "tokens": tokens,
        "units": amounts,
        "height": held.height,
        "is_local": is_local,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, parameters)
