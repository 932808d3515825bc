"""A merchant's pages and reports at a thousand checkouts and at a million, with five transfers each.

The same requests in one process, through everything but a socket. Slow queries are reported with their plans.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from benchmarks import stack
from benchmarks.report import Claim, Report, Series, ratio

SMALL = 1_000
LARGE = 1_000_000
MOST_TIMES = 1.5
SLOW_MS = 50
TRANSFERS_EACH = 5
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


@dataclass(frozen=True, slots=True)
class Asker:
    """A client that requests pages and API answers of a merchant with this many checkouts."""

    page: Callable[[str], None]
    api: Callable[..., None]
    checkouts: int

    @property
    def deep(self) -> int:
        """A place far down a list."""
        return int(self.checkouts * _DEEP)

    @property
    def key(self) -> int:
        """The key of the checkout there."""
        return self.checkouts - self.deep

    def by_hash(self) -> None:
        """Look for a transfer in the search field."""
        self.page(f"checkouts/?q={_hash_of(self.key)}")

    def year(self) -> None:
        """Ask for the longest summary."""
        since = (datetime.now(UTC) - timedelta(days=365, hours=12)).isoformat()
        self.api("reports/summary", **{"from": since})


REQUESTS: Final[dict[str, Callable[[Asker], None]]] = {
    "overview, 30 days": lambda who: who.page(""),
    "overview, 90 days": lambda who: who.page("?days=90"),
    "list's first page": lambda who: who.page("checkouts/"),
    "list's deep page": lambda who: who.page(f"checkouts/?before={who.key}"),
    "search by hash": Asker.by_hash,
    "reports, 90 days": lambda who: who.page("reports/?days=90"),
    "payments": lambda who: who.page("payments/"),
    "API list with total": lambda who: who.api("checkouts"),
    "API list at two fifths": lambda who: who.api("checkouts", offset=who.deep),
    "API list by key": lambda who: who.api("checkouts", starting_after=f"chk_live_{who.key}"),
    "API summary, 30 days": lambda who: who.api("reports/summary"),
    "API summary, 366 days": Asker.year,
    "API transactions with total": lambda who: who.api("reports/transactions"),
    "API transactions at two fifths": lambda who: who.api("reports/transactions", offset=who.deep * TRANSFERS_EACH),
}


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure both sizes in turn; `FLORIN_SCALE` is another number of checkouts than a million, to try this out."""
    del seconds
    large = int(os.environ.get("FLORIN_SCALE", LARGE))
    queries: dict[str, Asked] = {}
    with stack.engines(LOG_LEVEL="ERROR"):
        merchant, key = stack.seed_merchant()
        page, api = _browser(merchant), _api(key)
        sizes = _written(merchant, large)
        pairs = [
            _compare(name, sizes, [Asker(page, api, size) for size in sizes], rounds, queries) for name in REQUESTS
        ]
        slow = [one for one in queries.values() if one.ms > SLOW_MS]
        plans = [line for one in slow for line in _plan(one)]
    claims = [
        Claim(f"{name}: {large:,} / {SMALL:,}", ratio(big, little), MOST_TIMES, at_most=True)
        for name, (little, big) in zip(REQUESTS, pairs, strict=True)
    ]
    claims.append(Claim(f"queries over {SLOW_MS} ms", len(slow), 0, at_most=True))
    series = [one for pair in pairs for one in pair]
    return [Report("scale", series, claims, plans)]


def _written(merchant: int, large: int) -> dict[int, str]:
    """Make a database of each size, of the same merchant, people and keys; return their names, the larger one open."""
    from django.db import connection
    from django.utils import timezone

    from benchmarks.bigshop import fill

    first = connection.settings_dict["NAME"]
    second = f"{first}_large"
    _open("postgres")
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{second}" TEMPLATE "{first}"')
    sizes = {SMALL: first, large: second}
    for checkouts, name in sizes.items():
        began = time.monotonic()
        _open(name)
        fill(merchant, checkouts=checkouts, end=timezone.now())
        print(f"  {checkouts:,} checkouts written in {time.monotonic() - began:,.0f} s")
    return sizes


def _open(database: str) -> None:
    from django.db import connection

    connection.close()
    connection.settings_dict["NAME"] = database


def _compare(
    name: str, sizes: dict[int, str], askers: Sequence[Asker], rounds: int, queries: dict[str, Asked]
) -> tuple[Series, Series]:
    """Ask for a page at one size and the other, in turn, and remember the larger one's queries."""
    little, big = (Series(f"{name}, {size:,}", "ms") for size in sizes)
    for turn in range(rounds + 1):
        for series, asker, database in zip((little, big), askers, sizes.values(), strict=True):
            _open(database)
            # Web processes keep their connections, and what these have learned of the tables.
            REQUESTS[name](asker)
            with _watching(queries if series is big and turn else {}):
                began = time.perf_counter()
                REQUESTS[name](asker)
                took = (time.perf_counter() - began) * 1000
            # The first turn warms up.
            if turn:
                series.rounds.append(took)
    print(f"  {name:<34} {little.median:>10,.1f} {big.median:>10,.1f} ms", flush=True)
    return little, big


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

    def clock(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        result = execute(sql, parameters, many, context)
        asked = queries.setdefault(sql, Asked(sql, parameters))
        asked.parameters = parameters
        asked.times.append((time.perf_counter() - began) * 1000)
        return result

    with connection.execute_wrapper(clock):
        yield


def _plan(slow: Asked) -> list[str]:
    """Return the plan of a slow query."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {slow.sql}", slow.parameters)
        lines = [line for (line,) in cursor]
    return [f"{slow.ms:,.0f} ms: {' '.join(slow.sql.split())}", *lines]
