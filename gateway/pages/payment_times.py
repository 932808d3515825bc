"""How long payments took from their block to each stage, by chain, read from rows at each scrape."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from django.db import connection
from prometheus_client.core import GaugeHistogramMetricFamily
from prometheus_client.registry import Collector

STAGES: Final = ("seen", "final", "credited", "webhook")
BUCKETS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600)
PERIOD: Final = timedelta(hours=1)
_MOST: Final = 1000

# The index of a chain's blocks gives its newest transfers, so a scrape costs the same however many there are. The
# webhook is the checkout's first event since the credit that an endpoint answered with 2xx.
_NEWEST: Final = """
    SELECT c.chain, extract(epoch FROM t.detected_at - t.block_time)::float8,
        extract(epoch FROM t.confirmed_at - t.block_time)::float8,
        extract(epoch FROM p.credited_at - t.block_time)::float8,
        extract(epoch FROM w.answered_at - t.block_time)::float8
    FROM wallets_chaincursor c
    CROSS JOIN LATERAL (
        SELECT id, mode, state, block_time, detected_at, confirmed_at FROM wallets_transfer
        WHERE chain = c.chain ORDER BY block_height DESC LIMIT %(most)s
    ) t
    LEFT JOIN checkouts_payment p ON p.transfer_id = t.id
    LEFT JOIN checkouts_checkout k ON k.id = p.checkout_id
    LEFT JOIN LATERAL (
        SELECT min(d.finished_at) AS answered_at FROM webhooks_event e
        JOIN webhooks_delivery d ON d.event_id = e.id AND d.status = 'delivered'
        WHERE e.subject_id = k.public_id AND e.created_at >= p.credited_at
    ) w ON true
    WHERE t.mode = 'live' AND t.state <> 'orphaned' AND t.detected_at >= %(since)s::timestamptz
"""


class PaymentTimes(Collector):
    """Collects a histogram of the last hour. It can fall, so queries use it without `rate`."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def collect(self) -> Iterator[GaugeHistogramMetricFamily]:
        """Yield the histogram, with a series for each chain and stage that payments reached."""
        family = GaugeHistogramMetricFamily(
            "florin_payment_seconds", "From a payment's block to a stage, in the last hour.", labels=["chain", "stage"]
        )
        for (chain, stage), seconds in sorted(self._measured().items()):
            places = Counter(bisect_left(BUCKETS, each) for each in seconds)
            counts = accumulate(places[place] for place in range(len(BUCKETS) + 1))
            names = [*(str(float(limit)) for limit in BUCKETS), "+Inf"]
            family.add_metric([chain, stage], list(zip(names, counts, strict=True)), sum(seconds))
        yield family

    def _measured(self) -> dict[tuple[str, str], list[float]]:
        values: dict[str, int | datetime] = {"most": _MOST, "since": self._now - PERIOD}
        found: dict[tuple[str, str], list[float]] = {}
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST, values)
            for chain, *times in cursor.fetchall():
                for stage, seconds in zip(STAGES, times, strict=True):
                    if seconds is not None:
                        # A block's own clock may be ahead of ours.
                        found.setdefault((chain, stage), []).append(max(seconds, 0))
        return found
