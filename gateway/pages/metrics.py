"""The metrics for operators, read from the database at each scrape, beside this process's own counters."""

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import accumulate
from math import inf
from typing import Any, Final

from django.conf import settings
from django.db import connection
from prometheus_client import REGISTRY, CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import GaugeHistogramMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from gateway.core.postgres.replica import replica
from rates.selectors import known_rates
from settlements.selectors import book_checks, gas_costs, gas_health, relays, troubled_forwarders
from wallets.selectors import stands_still
from wallets.states import DifferenceKind
from wallets.watchers.demand import account_ages

STAGES: Final = ("seen", "final", "credited", "webhook")
BUCKETS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600)
PERIOD: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_MOST: Final = 1000
# The index of a chain's blocks gives its newest transfers, so a scrape costs the same however many there are. The
# webhook is the checkout's first event since the credit that an endpoint answered with 2xx, of those that need no choice.
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
        WHERE e.subject_id = k.public_id AND e.created_at >= p.credited_at AND e.type <> ALL(%(opt_in)s::text[])
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
        values: dict[str, Any] = {"most": _MOST, "since": self._now - PERIOD, "opt_in": settings.WEBHOOK_OPT_IN_TYPES}
        found: dict[tuple[str, str], list[float]] = {}
        with connection.cursor() as cursor:
            cursor.execute(_NEWEST, values)
            for chain, *times in cursor.fetchall():
                for stage, seconds in zip(STAGES, times, strict=True):
                    if seconds is not None:
                        # A block's own clock may be ahead of ours.
                        found.setdefault((chain, stage), []).append(max(seconds, 0))
        return found


_AGES = """
    SELECT 'florin_transfer_queue_seconds', min(queued_at) FROM wallets_transfer WHERE queued_at IS NOT NULL
    UNION ALL
    SELECT 'florin_delivery_queue_seconds', min(d.next_attempt_at)
    FROM webhooks_delivery d JOIN webhooks_endpoint e ON e.id = d.endpoint_id
    WHERE d.status = 'pending' AND d.next_attempt_at <= %(now)s::timestamptz AND e.consecutive_failures = 0
    UNION ALL
    SELECT 'florin_mail_queue_seconds', min(due_at) FROM mails_outgoingmail WHERE due_at <= %(now)s::timestamptz
"""
_MAILS_GIVEN_UP = "SELECT count(*) FROM mails_outgoingmail WHERE due_at IS NULL AND sent_at IS NULL"
_CHAINS = "SELECT chain, head, height, head_at, head_time, halted_reason <> '' FROM wallets_chaincursor"
_EFFORT = "SELECT chain, requests, requests_minute, reads FROM wallets_chaincursor"
_DIFFERENCES = """
    SELECT c.chain, k.kind, count(d.id)
    FROM wallets_chaincursor c CROSS JOIN unnest(%(kinds)s::text[]) AS k(kind)
    LEFT JOIN wallets_sourcedifference d ON d.chain = c.chain AND d.kind = k.kind AND d.closed_at IS NULL
    GROUP BY c.chain, k.kind
"""
_RECONCILED = "SELECT chain, reconciled_at, disagreeing_since IS NOT NULL FROM wallets_chaincursor"


def measure(*, now: datetime) -> bytes:
    """Return the metrics as text: ages in seconds, lags in blocks and seconds."""
    registry = CollectorRegistry()
    for name, oldest in oldest_waiting(now=now).items():
        age = Gauge(name, "Age of the oldest row that waits.", registry=registry)
        age.set((now - oldest).total_seconds() if oldest else 0)
    _measure_mail(registry, mails_given_up())
    with connection.cursor() as cursor:
        cursor.execute(_CHAINS)
        _measure_chains(registry, cursor.fetchall(), now)
        cursor.execute(_EFFORT)
        _measure_effort(registry, cursor.fetchall())
        _measure_accounts(registry, now)
        cursor.execute(_DIFFERENCES, {"kinds": DifferenceKind.values})
        _measure_differences(registry, cursor.fetchall())
        cursor.execute(_RECONCILED)
        _measure_agreement(registry, cursor.fetchall(), now)
    _measure_gas(registry, now)
    _measure_relays(registry, now)
    _measure_books(registry)
    _measure_rates(registry, now)
    _measure_replica(registry)
    _measure_backups(registry, now)
    registry.register(PaymentTimes(now))
    return generate_latest(registry) + generate_latest(own_counters())


def own_counters() -> CollectorRegistry:
    """Return the counters of this process, or of its siblings too where they share a folder for them."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


def oldest_waiting(*, now: datetime) -> dict[str, datetime | None]:
    """Return the due time of each queue's oldest row, by metric name.

    Without deliveries to endpoints that fail: those wait for their probes, and not for the sender.
    """
    with connection.cursor() as cursor:
        cursor.execute(_AGES, {"now": now})
        return dict(cursor.fetchall())


def mails_given_up() -> int:
    """Return how many mails of the last 30 days every server refused."""
    with connection.cursor() as cursor:
        cursor.execute(_MAILS_GIVEN_UP)
        return int(cursor.fetchone()[0])


def _measure_mail(registry: CollectorRegistry, given_up: int) -> None:
    Gauge("florin_mails_given_up", "Mails of the last 30 days that no server took.", registry=registry).set(given_up)


def _measure_rates(registry: CollectorRegistry, now: datetime) -> None:
    """Add the metrics of rates; none where all prices are in USD."""
    age = Gauge("florin_rate_age_seconds", "Since a rate was so.", ["currency", "source"], registry=registry)
    refused = Gauge("florin_rate_unavailable", "Whether prices in it are refused.", ["currency"], registry=registry)
    for told in known_rates(now=now):
        refused.labels(told.currency).set(int(told.refusal is not None))
        for reading in told.readings:
            age.labels(told.currency, reading.source).set((now - reading.taken_at).total_seconds())


def _measure_effort(registry: CollectorRegistry, rows: list[tuple[str, int, int, int]]) -> None:
    requests, minute, reads = (
        Gauge(name, help_text, ["chain"], registry=registry)
        for name, help_text in (
            ("florin_chain_requests_total", "Asked of nodes by watchers."),
            ("florin_chain_requests_minute", "The same in the last minute."),
            ("florin_chain_reads_total", "Windows of blocks, or accounts, read."),
        )
    )
    for chain, asked, asked_lately, read in rows:
        requests.labels(chain).set(asked)
        minute.labels(chain).set(asked_lately)
        reads.labels(chain).set(read)


def _measure_accounts(registry: CollectorRegistry, now: datetime) -> None:
    """Add the metrics of chains that are read account by account."""
    accounts = Gauge("florin_accounts", "Wallets read.", ["chain", "state"], registry=registry)
    age = Gauge(
        "florin_account_age_seconds",
        "How old the knowledge is of the least known account that somebody may be paying to.",
        ["chain"],
        registry=registry,
    )
    for chain, ages in account_ages(now=now).items():
        accounts.labels(chain, "all").set(ages.accounts)
        accounts.labels(chain, "expected").set(ages.expected)
        accounts.labels(chain, "broken").set(ages.broken)
        if ages.oldest is not None:
            age.labels(chain).set((now - ages.oldest).total_seconds())


def _measure_chains(
    registry: CollectorRegistry,
    rows: list[tuple[str, int | None, int | None, datetime | None, datetime | None, bool]],
    now: datetime,
) -> None:
    behind = Gauge("florin_chain_blocks_behind", "Blocks not read.", ["chain"], registry=registry)
    silent = Gauge("florin_chain_silent_seconds", "Since a node answered.", ["chain"], registry=registry)
    halted = Gauge(
        "florin_chain_halted",
        "Whether the chain was stopped, because it contradicts what was read.",
        ["chain"],
        registry=registry,
    )
    for chain, head, height, head_at, head_time, is_halted in rows:
        halted.labels(chain).set(int(is_halted))
        if head is not None and height is not None:
            behind.labels(chain).set(head - height)
        if head_at is not None and not is_halted:
            # A node that repeats an old block tells no more than one that does not answer.
            since = head_time if head_time and stands_still(chain, head_time, now=now) else head_at
            silent.labels(chain).set((now - since).total_seconds())


def _measure_differences(registry: CollectorRegistry, rows: list[tuple[str, str, int]]) -> None:
    differences = Gauge(
        "florin_source_differences",
        "Transfers that two sources of a chain tell differently, and nobody has closed.",
        ["chain", "kind"],
        registry=registry,
    )
    for chain, kind, count in rows:
        differences.labels(chain, kind).set(count)


def _measure_agreement(
    registry: CollectorRegistry, rows: list[tuple[str, datetime | None, bool]], now: datetime
) -> None:
    age = Gauge(
        "florin_reconciled_seconds", "Since two sources of a chain were compared whole.", ["chain"], registry=registry
    )
    disagree = Gauge(
        "florin_sources_disagree",
        "Whether two sources have different blocks where they are final.",
        ["chain"],
        registry=registry,
    )
    for chain, reconciled_at, is_disagreeing in rows:
        if reconciled_at is not None:
            age.labels(chain).set((now - reconciled_at).total_seconds())
        disagree.labels(chain).set(int(is_disagreeing))


def _measure_gas(registry: CollectorRegistry, now: datetime) -> None:
    names = ["chain", "address"]
    coins = Gauge("florin_gas_coins", "What a gas account holds.", names, registry=registry)
    age = Gauge(
        "florin_gas_transaction_seconds", "Age of a gas account's oldest open transaction.", names, registry=registry
    )
    doubted = Gauge(
        "florin_gas_number_doubted",
        "Whether nodes say of a gas account's number what is not believed.",
        names,
        registry=registry,
    )
    for account in gas_health():
        since = account.waiting_since
        waited = 0.0 if since is None else (now - since).total_seconds()
        age.labels(account.chain, account.address).set(waited)
        doubted.labels(account.chain, account.address).set(int(account.is_doubtful))
        if account.coins is not None:
            coins.labels(account.chain, account.address).set(float(account.coins))


def _measure_relays(registry: CollectorRegistry, now: datetime) -> None:
    sent = Gauge(
        "florin_relays_day",
        "Signed transfers that were sent in the last 24 hours, by what came of them.",
        ["chain", "outcome"],
        registry=registry,
    )
    for chain, outcome, count in relays(since=now - _DAY):
        sent.labels(chain, outcome).set(count)
    spent = Gauge(
        "florin_gas_spent_day_coins",
        "What transactions of the last 24 hours cost, in the chain's coin.",
        ["chain", "purpose"],
        registry=registry,
    )
    for chain, purpose, coins in gas_costs(since=now - _DAY):
        spent.labels(chain, purpose).set(float(coins))


def _measure_books(registry: CollectorRegistry) -> None:
    differences = Gauge(
        "florin_book_differences",
        "What the last comparison of forwarders' books with rows and chain found.",
        ["chain"],
        registry=registry,
    )
    troubled = Gauge(
        "florin_troubled_forwarders",
        "Forwarders that could not be emptied and wait for a person.",
        ["chain"],
        registry=registry,
    )
    for check in book_checks():
        differences.labels(check.chain).set(len(check.differences))
    for chain, count in troubled_forwarders().items():
        troubled.labels(chain).set(count)


def _measure_backups(registry: CollectorRegistry, now: datetime) -> None:
    """Add the ages of what `florinctl` noted: backup, WAL and drill; nothing where it notes nothing."""
    known: dict[str, float] = {}
    with suppress(OSError, ValueError):
        known = json.loads((settings.VAR_DIR / "status" / "backups.json").read_text())
    for name, noted, help_text in (
        ("florin_backup_age_seconds", "backup_at", "Since the last backup."),
        ("florin_wal_age_seconds", "wal_at", "Since WAL was last shipped."),
        ("florin_restore_drill_age_seconds", "drill_at", "Since the last good drill."),
    ):
        if noted in known:
            age = Gauge(name, help_text, registry=registry)
            age.set(now.timestamp() - known[noted])


def _measure_replica(registry: CollectorRegistry) -> None:
    """Add the replica's lag, if a replica is set; infinite while it does not answer."""
    if not settings.REPLICA_URL:
        return
    lag = replica.lag()
    Gauge(
        "florin_replica_lag_seconds",
        "How far the replica of REPLICA_URL is behind; infinite while it does not answer.",
        registry=registry,
    ).set(inf if lag is None else lag)
