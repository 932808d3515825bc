"""Finds payments whose money was flushed to the merchant's own wallet."""

from datetime import datetime
from typing import Any, Final

from django.db import connection

# A flush takes the whole balance: money of an earlier block is gone with it. For money of the same block, only an empty
# forwarder proves it.
_ARRIVED: Final = """
    WITH arrived AS (
        SELECT p.id FROM x402_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
        WHERE t.deposit_id IS NOT NULL AND p.mode = 'live' AND p.status = 'verified' AND p.final_at IS NOT NULL
          AND EXISTS (
            SELECT FROM wallets_depositoutflow o
            WHERE o.deposit_id = t.deposit_id AND o.chain = t.chain AND o.token = t.token AND o.state = 'confirmed'
              AND (o.block_height > t.block_height OR o.block_height = t.block_height AND EXISTS (
                  SELECT FROM wallets_depositbalance b
                  WHERE b.deposit_id = t.deposit_id AND b.chain = t.chain AND b.token = t.token
                    AND b.received <= b.flushed)))
        -- Whoever follows a transfer just now has its payment: the next run sees to it.
        ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED
    )
    UPDATE x402_payment p SET status = 'settled', settled_at = %(now)s::timestamptz
    FROM arrived WHERE p.id = arrived.id
"""


def note_arrivals(*, now: datetime) -> int:
    """Mark final payments settled that were flushed, by anyone; return how many. Idempotent."""
    parameters: dict[str, Any] = {"now": now}
    with connection.cursor() as cursor:
        cursor.execute(_ARRIVED, parameters)
        return int(cursor.rowcount)
