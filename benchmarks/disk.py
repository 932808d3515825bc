"""How many bytes a row takes, indexes included, what a year of many merchants takes, and how creating goes among so many rows.

`FLORIN_SCALE` is another number of checkouts than a million.
"""

import json
import os
import time
from itertools import cycle
from typing import Final

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import http_request, run_load
from benchmarks.report import Report, Series

CHECKOUTS: Final = 1_000_000
PAID: Final = 0.62
"""The share of checkouts that are paid, as in `benchmarks.bigshop`; each of the others expires, which is an event too."""
MERCHANTS, CHECKOUTS_A_DAY = 1_000, 10_000
DAYS: Final = 365
ATTEMPTS_KEPT_DAYS: Final = 30
_GB: Final = 10**9
_CLIENTS: Final = 8
_ROWS_OF_A_CHECKOUT: Final = {
    "checkouts_checkout": 1.0,
    "wallets_depositaddress": 1.0,
    "wallets_transfer": PAID,
    "wallets_transferclaim": PAID,
    "checkouts_payment": PAID,
    "accounts_feeentry": PAID,
    "webhooks_event": 1.0,
    "webhooks_delivery": 1.0,
}
_ATTEMPT: Final = "webhooks_attempt"
_EVENTS: Final = """
INSERT INTO webhooks_event (id, public_id, merchant_id, mode, type, subject_id, occurrence, sequence, body, created_at)
SELECT id, 'evt_' || md5(id::text), merchant_id, 'live', 'checkout.completed', public_id, 'checkout.completed:' || id || ':1', id,
       convert_to(replace(%(body)s, 'chk_live_', 'chk_live_' || md5(id::text)), 'UTF8'), created_at
FROM checkouts_checkout
"""
_DELIVERIES: Final = """
INSERT INTO webhooks_delivery (id, public_id, event_id, endpoint_id, status, tries, next_attempt_at, is_due, finished_at,
                               merchant_id, mode, event_type, created_at)
SELECT e.id, 'whd_' || md5(e.id::text), e.id, w.id, 'delivered', 1, e.created_at, false, e.created_at, e.merchant_id, 'live',
       e.type, e.created_at
FROM webhooks_event e CROSS JOIN (SELECT min(id) AS id FROM webhooks_endpoint) w
"""
_ATTEMPTS: Final = """
INSERT INTO webhooks_attempt (delivery_id, started_at, duration_ms, status_code, error, request_headers, response_headers,
                              response_body)
SELECT id, created_at, 40, 200, '', jsonb_build_object(
           'Content-Type', 'application/json', 'User-Agent', 'Florin-Webhooks/1', 'webhook-id', public_id,
           'webhook-timestamp', id::text, 'webhook-signature', 'v1,' || md5(public_id) || md5(id::text),
           'X-Service-Signature', 't=' || id || ',v1=' || md5(id::text) || md5(public_id)),
       jsonb_build_object('Date', created_at::text, 'Content-Type', 'text/plain', 'Content-Length', '2', 'Server', 'nginx'), 'ok'
FROM webhooks_delivery
"""
_SIZE: Final = """
SELECT greatest(pg_total_relation_size('{table}'),
                (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('{table}'))),
       (SELECT count(*) FROM {table})
"""


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Load once, compute the year from it, then create and list, `rounds` times for `seconds`."""
    checkouts = int(os.environ.get("FLORIN_SCALE", CHECKOUTS))
    with stack.engines(LOG_LEVEL="ERROR"):
        merchant, key = stack.seed_merchant()
        began = time.monotonic()
        _fill(merchant, checkouts)
        loading = time.monotonic() - began
        tables = [*_ROWS_OF_A_CHECKOUT, _ATTEMPT]
        sizes = {table: _bytes_a_row(table) for table in tables}
        speeds = _speeds(key, rounds, seconds)
    series = [Series(table, "bytes/row", [size]) for table, size in sizes.items()]
    kept = sum(sizes[table] * rows for table, rows in _ROWS_OF_A_CHECKOUT.items())
    daily = MERCHANTS * CHECKOUTS_A_DAY
    series += [
        Series("kept for each checkout", "bytes", [kept]),
        Series("kept for a day", "GB", [kept * daily / _GB]),
        Series("kept for a year", "GB", [kept * daily * DAYS / _GB]),
        Series(f"attempts of {ATTEMPTS_KEPT_DAYS} days", "GB", [sizes[_ATTEMPT] * daily * ATTEMPTS_KEPT_DAYS / _GB]),
        Series("rows kept for a year", "million", [sum(_ROWS_OF_A_CHECKOUT.values()) * daily * DAYS / 10**6]),
    ]
    series += [Series("loading took", "seconds", [loading]), *speeds]
    name = "disk" if checkouts == CHECKOUTS else f"disk at {checkouts}"
    return [Report(name, series, [])]


def _speeds(key: str, rounds: int, seconds: float) -> list[Series]:
    """Create, and list the newest, among the rows that were loaded."""
    created = Series("creating, 8 clients", "req/s")
    listed = Series("list of 20 with total, 8 clients", "req/s")
    listing = cycle([http_request("GET", "/api/v1/checkouts?limit=20", key=key)])
    _continue_numbers()
    with stack.server("benchmarks.product:application") as port:
        run_load(port, creation_requests(key, "warm"), clients=_CLIENTS, seconds=1)
        for number in range(rounds):
            creating = creation_requests(key, str(number))
            for series, requests in ((created, creating), (listed, listing)):
                done = run_load(port, requests, clients=_CLIENTS, seconds=seconds)
                series.rounds.append(done.rate)
    return [created, listed]


def _continue_numbers() -> None:
    """Have the next row of each table numbered after those that were loaded."""
    from django.apps import apps
    from django.core.management.color import no_style
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), apps.get_models()):
            cursor.execute(statement)


def _fill(merchant: int, checkouts: int) -> None:
    from django.conf import settings
    from django.db import connection
    from django.utils import timezone

    from accounts.models import Merchant
    from accounts.states import Mode
    from benchmarks.bigshop import fill
    from webhooks.endpoints.service import set_default_url

    now = timezone.now()
    # More would not change what one takes.
    fill(merchant, checkouts=checkouts, end=now, each=1)
    shop = Merchant.objects.get(pk=merchant)
    set_default_url(shop, mode=Mode.LIVE, url="https://shop.example/hook", now=now)
    examples = settings.BASE_DIR / "gateway" / "pages" / "api_examples.json"
    body = json.dumps(json.loads(examples.read_text())["checkout.completed"]["request"])
    with connection.cursor() as cursor:
        # No triggers: each row is of one that was just written.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(_EVENTS, {"body": body})
        cursor.execute(_DELIVERIES)
        cursor.execute(_ATTEMPTS)
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")


def _bytes_a_row(table: str) -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_SIZE.format(table=table))
        size, rows = cursor.fetchone()
    return float(size / rows)
