"""Reading one checkout, and a list of twenty out of 100,000 with its total, against pgbench creating rows in the same run."""

from collections.abc import Iterator
from itertools import count

from django.db import connection

from benchmarks import pgbench, stack
from benchmarks.load import http_request, run_load
from benchmarks.report import Claim, Report, Series, ratio

CLIENTS = 8
PRESENT = 100_000
_DEEP_OFFSET = 90_000

_FILL = """
INSERT INTO checkouts_checkout (
    public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata, customer_email,
    redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers, deposit_nonce,
    amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
SELECT 'chk_live_fill' || n, 'fill' || n, %(merchant)s, 'live', 'expired', '', 49.00, 'USD', 'Ethiopia Guji', '{"a":1}', '',
       '', '', 'customer-' || n, 'product-7', 'order-' || n, NULL,
       '{"base": {"tokens": ["USDC"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"}}'::jsonb,
       decode(md5(n::text) || md5((n + 1)::text), 'hex'), 0, 0, 0, '', now(), now()
FROM generate_series(1, %(rows)s) n
"""
_COUNT = """
INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value, is_sum)
VALUES (%(merchant)s, 'live', 'expired', %(rows)s, true)
"""


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure with eight clients."""
    with stack.engines() as urls:
        merchant, key = stack.seed_merchant()
        _fill(merchant)
        with stack.server("benchmarks.product:application") as port, stack.folded_totals():
            base = Series("pgbench, creating", "tx/s")
            series = {name: Series(name, "req/s") for name in _kinds(key)}
            for _ in range(rounds):
                base.rounds.append(
                    pgbench.transactions_per_second(
                        urls.database_url, merchant, clients=CLIENTS, seconds=max(1, round(seconds))
                    )
                )
                for name, requests in _kinds(key).items():
                    result = run_load(port, requests, clients=CLIENTS, seconds=seconds)
                    series[name].rounds.append(result.rate)
    read, page = series["read one"], series["list 20 with total"]
    claims = [
        Claim("read one / pgbench", ratio(read, base), 0.60),
        Claim("list 20 of 100,000 with total / pgbench", ratio(page, base), 0.30),
    ]
    return [Report("checkout reading, 8 clients", [base, *series.values()], claims)]


def _kinds(key: str) -> dict[str, Iterator[bytes]]:
    ones = (
        http_request("GET", f"/api/v1/checkouts/chk_live_fill{number % PRESENT + 1}", key=key)
        for number in count(0, 7919)
    )
    first = http_request("GET", "/api/v1/checkouts?limit=20", key=key)
    deep = http_request("GET", f"/api/v1/checkouts?limit=20&offset={_DEEP_OFFSET}", key=key)
    return {
        "read one": ones,
        "list 20 with total": (first for _ in count()),
        f"list 20 at offset {_DEEP_OFFSET:,}": (deep for _ in count()),
    }


def _fill(merchant: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"merchant": merchant, "rows": PRESENT})
        cursor.execute(_COUNT, {"merchant": merchant, "rows": PRESENT})
        cursor.execute("ANALYZE")
    connection.close()
