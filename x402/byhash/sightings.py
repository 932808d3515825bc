"""Sightings: when merchants first asked about transactions. A payment's age counts from then, despite later outages."""

from datetime import datetime
from typing import Any, Final

from django.db import connection

from gateway.core.api.rate_limits import Limit, hit
from x402.inputs import Proof

PER_DAY: Final = Limit("x402.sightings", 10_000, seconds=86_400)
"""How many are stored per merchant and day: strangers can make it ask about any hash. Further ones get no earlier age."""

_NOTE: Final = """
    INSERT INTO x402_sighting (merchant_id, chain, tx_hash, seen_at)
    VALUES (%(merchant)s, %(chain)s, %(tx_hash)s, %(now)s::timestamptz)
    ON CONFLICT (merchant_id, chain, tx_hash) DO NOTHING
"""


def note_sighting(merchant_id: int, proof: Proof, *, now: datetime) -> None:
    """Store when a merchant first asked about a transaction; later calls change nothing."""
    if hit(PER_DAY, str(merchant_id), now=now.timestamp()).exceeded:
        return
    parameters: dict[str, Any] = {"merchant": merchant_id, "chain": proof.chain, "tx_hash": proof.tx_hash, "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, parameters)
