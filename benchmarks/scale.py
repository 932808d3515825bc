"""A merchant's pages and reports at a thousand checkouts and at a million, with five transfers each.

The same requests in one process, through everything but a socket. Queries that take long are told with their plans.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from benchmarks import stack
from benchmarks.report import Claim, Report, Series

SMALL = 1_000
LARGE = 1_000_000
MOST_TIMES = 10
SLOW_MS = 50
_DEEP = 0.4


@dataclass(slots=True)
class Asked:
    """A query, with the parameters of its last run and the milliseconds of each."""

    sql: str
    parameters: Any
    times: list[float] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """The median."""
        return statistics.median(self.times)


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure both sizes; `FLORIN_SCALE` is another number of checkouts than a million, to try this out."""
    del seconds
    large = int(os.environ.get("FLORIN_SCALE", LARGE))
    with stack.engines(LOG_LEVEL="ERROR"):
        merchant, key = stack.seed_merchant()
        small_series, _ = _measure(merchant, key, SMALL, rounds)
        large_series, slow = _measure(merchant, key, large, rounds)
        plans = [line for one in slow.values() for line in _plan(one)]
    claims = [
        Claim(
            f"{big.name} / the same at {SMALL:,}",
            big.median / little.median,
            MOST_TIMES,
            at_most=True,
        )
        for little, big in zip(small_series, large_series, strict=True)
    ]
    claims.append(Claim(f"queries over {SLOW_MS} ms", len(slow), 0, at_most=True))
    return [Report("scale", [*small_series, *large_series], claims, plans)]


def _measure(
    merchant: int, key: str, checkouts: int, rounds: int
) -> tuple[list[Series], dict[str, Asked]]:
    """Write the merchant's year, ask for each page a few times, and return its times and the queries that were slow."""
    from django.utils import timezone

    from benchmarks.bigshop import fill

    began = time.monotonic()
    fill(merchant, checkouts=checkouts, end=timezone.now())
    print(f"  {checkouts:,} checkouts written in {time.monotonic() - began:,.0f} s")
    found, queries = [], dict[str, Asked]()
    for name, ask in _requests(merchant, key, checkouts).items():
        ask()
        series = Series(f"{name}, {checkouts:,}", "ms")
        with _watching(queries):
            for _ in range(rounds):
                series.rounds.append(_timed(ask))
        print(f"  {series.name:<44} {series.median:>10,.1f} ms", flush=True)
        found.append(series)
    return found, {sql: one for sql, one in queries.items() if one.ms > SLOW_MS}


def _timed(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


def _requests(
    merchant: int, key: str, checkouts: int
) -> dict[str, Callable[[], object]]:
    """What is asked for, by name."""
    from django.utils import timezone

    deep = int(checkouts * _DEEP)
    year = (timezone.now() - timedelta(days=365, hours=12)).isoformat()
    page, api = _browser(merchant), _api(key)
    tx_hash = _hash_of(deep)
    after = f"chk_live_{checkouts - deep}"
    report = "reports/transactions"
    return {
        "overview, 30 days": lambda: page(""),
        "overview, 90 days": lambda: page("?days=90"),
        "list's first page": lambda: page("checkouts/"),
        "list's deep page": lambda: page(f"checkouts/?before={checkouts - deep}"),
        "search by hash": lambda: page(f"checkouts/?q={tx_hash}"),
        "reports, 90 days": lambda: page("reports/?days=90"),
        "payments": lambda: page("payments/"),
        "API list with total": lambda: api("checkouts"),
        "API list at two fifths": lambda: api("checkouts", offset=deep),
        "API list by key": lambda: api("checkouts", starting_after=after),
        "API summary, 30 days": lambda: api("reports/summary"),
        "API summary, 366 days": lambda: api("reports/summary", **{"from": year}),
        "API transactions with total": lambda: api(report),
        "API transactions at two fifths": lambda: api(report, offset=deep),
    }


def _browser(merchant: int) -> Callable[[str], None]:
    """An owner who looks at the merchant's live pages."""
    from accounts.models import Merchant
    from tests.dashboard.people import log_in, make_member

    who = Merchant.objects.get(pk=merchant)
    client = log_in(make_member(who), HTTP_HOST="localhost")

    def page(path: str) -> None:
        response = client.get(f"/dashboard/{who.public_id}/live/{path}")
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.status_code}")

    return page


def _api(key: str) -> Callable[..., None]:
    """The merchant's program, which meets no limit."""
    from django.conf import settings
    from django.test import Client

    client = Client(HTTP_HOST="localhost", HTTP_AUTHORIZATION=f"Bearer {key}")
    prefix = settings.KEY_PREFIX

    def get(path: str, **query: Any) -> None:
        # Counters of its own, for each request.
        settings.KEY_PREFIX = f"{prefix}:{time.monotonic_ns()}"
        response = client.get(f"/api/v1/{path}?{urlencode(query)}")
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.content!r}")

    return get


def _hash_of(key: int) -> str:
    from wallets.models import Transfer

    return Transfer.objects.values_list("tx_hash", flat=True).get(pk=key * 5 + 1)


@contextmanager
def _watching(queries: dict[str, Asked]) -> Iterator[None]:
    """Remember each query, and how long it took."""
    from django.db import connection

    def clock(
        execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any
    ) -> Any:
        began = time.perf_counter()
        result = execute(sql, parameters, many, context)
        asked = queries.setdefault(sql, Asked(sql, parameters))
        asked.parameters = parameters
        asked.times.append((time.perf_counter() - began) * 1000)
        return result

    with connection.execute_wrapper(clock):
        yield


def _plan(slow: Asked) -> list[str]:
    """How the database answers a slow query."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {slow.sql}", slow.parameters)
        lines = [line for (line,) in cursor]
    return [f"{slow.ms:,.0f} ms: {' '.join(slow.sql.split())}", *lines]
