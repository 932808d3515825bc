"""Live pages: how soon a browser shows what was committed, and what 2,000 open pages cost those who create checkouts."""

import random
import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import run_load
from benchmarks.openstreams import OpenStreams
from benchmarks.report import Claim, Report, Series, ratio

PAGES = 2_000
CLIENTS = 8
SAMPLES = 40
AIM_MS = 300
MOST_SLOWER = 0.10
_MIB = 2**20
# Opening and closing thousands of streams is work too, which is not measured here.
_SETTLING_SECONDS = 2.0
# What the browser's clock says when the panel has changed.
_NOTE_CHANGES = """
window.changes = [];
new MutationObserver(() => changes.push(performance.timeOrigin + performance.now()))
  .observe(document.getElementById("panel").parentElement, { childList: true });
"""


@dataclass(frozen=True)
class _Florin:
    """What runs: a web server, a stream server and a merchant's key."""

    web: int
    streams: int
    pid: int
    key: str

    def memory(self) -> float:
        """Return the memory of the stream server's processes, in MiB."""
        return float(sum(one.memory_info().rss for one in self._processes())) / _MIB

    def processor_seconds(self) -> float:
        """Return the processor time of the stream server's processes so far."""
        times = [one.cpu_times() for one in self._processes()]
        return float(sum(one.user + one.system for one in times))

    def _processes(self) -> list[psutil.Process]:
        server = psutil.Process(self.pid)
        return [server, *server.children(recursive=True)]


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure creation without and with open pages in turn, then the way from a commit to the screen."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _florin() as florin:
        codes = _open_checkouts(florin)
        return [_cost(florin, codes, rounds, seconds), _latency(florin, codes)]


@contextmanager
def _florin() -> Iterator[_Florin]:
    web, streams = stack.free_port(), stack.free_port()
    named = {
        "BASE_URL": f"http://127.0.0.1:{web}",
        "STREAM_URL": f"http://127.0.0.1:{streams}",
        # Each open page comes from an address of its own.
        "TRUSTED_PROXIES": "127.0.0.1",
    }
    with stack.engines(**named):
        _, key = stack.seed_merchant()
        product = "benchmarks.product:application"
        with stack.server(product, port=web), stack.stream_server(streams) as pid:
            yield _Florin(web, streams, pid, key)


def _open_checkouts(florin: _Florin) -> list[str]:
    """Create at least so many checkouts as pages shall be open, and one more; return their codes."""
    from checkouts.models import Checkout

    attempt = 0
    while Checkout.objects.count() <= PAGES:
        attempt += 1
        _create(florin, f"open-{attempt}", 1)
    return list(Checkout.objects.values_list("code", flat=True)[: PAGES + 1])


def _create(florin: _Florin, prefix: str, seconds: float) -> float:
    requests = creation_requests(florin.key, prefix)
    return run_load(florin.web, requests, clients=CLIENTS, seconds=seconds).rate


def _cost(florin: _Florin, codes: list[str], rounds: int, seconds: float) -> Report:
    alone = Series("creation alone", "req/s")
    beside = Series(f"creation beside {PAGES:,} open pages", "req/s")
    empty = Series("memory of the stream server, no page", "MiB")
    full = Series(f"memory of the stream server, {PAGES:,} pages", "MiB")
    work = Series("work of the stream server meanwhile", "% of a core")
    empty.rounds.append(florin.memory())
    for number in range(rounds):
        alone.rounds.append(_create(florin, f"alone-{number}", seconds))
        with OpenStreams(florin.streams, codes[:PAGES]):
            time.sleep(_SETTLING_SECONDS)
            before = florin.processor_seconds()
            beside.rounds.append(_create(florin, f"beside-{number}", seconds))
            worked = florin.processor_seconds() - before
            work.rounds.append(100 * worked / seconds)
            full.rounds.append(florin.memory())
        time.sleep(_SETTLING_SECONDS)
    kept = Claim("share of creation's speed", ratio(beside, alone), 1 - MOST_SLOWER)
    return Report("streams beside creation", [alone, beside, work, empty, full], [kept])


def _latency(florin: _Florin, codes: list[str]) -> Report:
    # By now Django is set up, which their module needs.
    from tests.browser.conftest import CHROMIUM_FLAGS, find_chromium

    delays = Series(f"commit to screen, beside {PAGES:,} pages", "ms")
    with OpenStreams(florin.streams, codes[:PAGES]), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        delays.rounds = _delays(florin, page, codes[PAGES])
        browser.close()
    slowest = statistics.quantiles(delays.rounds, n=20)[-1]
    claim = Claim("95th percentile, ms", slowest, AIM_MS, at_most=True)
    return Report("streams commit to screen", [delays], [claim])


def _delays(florin: _Florin, page: Page, code: str) -> list[float]:
    with page.expect_response(lambda answer: answer.url.endswith("/status")):
        page.goto(f"http://127.0.0.1:{florin.web}/c/{code}")
    page.evaluate(_NOTE_CHANGES)
    delays = []
    for number in range(SAMPLES):
        # Not in step with anything that ticks.
        page.wait_for_timeout(1_000 + random.random() * 1_000)
        committed = _move(code, "underpaid" if number % 2 == 0 else "pending")
        # The page's policy forbids evaluating a condition in it.
        while page.evaluate("changes.length") <= number:
            page.wait_for_timeout(10)
        delays.append(page.evaluate(f"changes[{number}]") - 1_000 * committed)
    return delays


def _move(code: str, status: str) -> float:
    """Change a checkout's status and ring, in one transaction as the services do; return the Unix time of its commit."""
    from django.db import transaction

    from checkouts.lifecycle.bells import ring_pages
    from checkouts.models import Checkout

    with transaction.atomic():
        checkout = Checkout.objects.locked().get(code=code)
        Checkout.objects.filter(pk=checkout.pk).update(status=status)
        ring_pages([checkout.pk])
        # Before it, to be on the safe side.
        return time.time()
