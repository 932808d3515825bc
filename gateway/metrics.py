"""The figures an operator watches, asked of the database when they are scraped, beside this process's own counters."""

from datetime import datetime

from django.db import connection
from prometheus_client import REGISTRY, CollectorRegistry, Gauge, generate_latest

_AGES = """
    SELECT 'florin_transfer_queue_seconds', min(queued_at) FROM wallets_transfer WHERE queued_at IS NOT NULL
    UNION ALL
    SELECT 'florin_delivery_queue_seconds', min(next_attempt_at) FROM webhooks_delivery
    WHERE status = 'pending' AND next_attempt_at <= %(now)s::timestamptz
"""
_CHAINS = "SELECT chain, head, height, head_at FROM wallets_chaincursor"


def measure(*, now: datetime) -> bytes:
    """Return the metrics as text: ages in seconds, lags in blocks and seconds."""
    registry = CollectorRegistry()
    with connection.cursor() as cursor:
        cursor.execute(_AGES, {"now": now})
        for name, oldest in cursor:
            age = Gauge(name, "Age of the oldest row that waits.", registry=registry)
            age.set((now - oldest).total_seconds() if oldest else 0)
        cursor.execute(_CHAINS)
        _measure_chains(registry, cursor.fetchall(), now)
    return generate_latest(registry) + generate_latest(REGISTRY)


def _measure_chains(
    registry: CollectorRegistry,
    rows: list[tuple[str, int | None, int | None, datetime | None]],
    now: datetime,
) -> None:
    behind = Gauge(
        "florin_chain_blocks_behind", "Blocks not read.", ["chain"], registry=registry
    )
    silent = Gauge(
        "florin_chain_silent_seconds",
        "Since a node answered.",
        ["chain"],
        registry=registry,
    )
    for chain, head, height, head_at in rows:
        if head is not None and height is not None:
            behind.labels(chain).set(head - height)
        if head_at is not None:
            silent.labels(chain).set((now - head_at).total_seconds())
