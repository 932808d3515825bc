"""Webhooks: how soon an event arrives, how fast a backlog drains, and whether a dead endpoint delays the others."""

import hashlib
import hmac
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import urllib3
from django.db import connection, transaction
from django.utils import timezone

from benchmarks import stack
from benchmarks.report import Claim, Report, Series, ratio

BACKLOG = 12_000
CELERY_BACKLOG = 1_000
ENDPOINTS = 16
HEALTHY, DEAD = 1_000, 200
LATENCY_EVENTS, LATENCY_BESIDE = 50, 200
STUCK = 100_000
BODY = json.dumps({"id": "chk_live_1", "metadata": {"note": "x" * 1_200}}).encode()


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure latency, backlog and fairness."""
    del seconds
    with stack.engines(WEBHOOK_ALLOW_LOOPBACK="true"), stack.receiver() as port:
        receiver = Endpoint(port)
        merchant, _ = stack.seed_merchant()
        make_secret(merchant)
        return [
            _latency(receiver, merchant),
            _beside_backlog(receiver, merchant),
            _backlog(receiver, merchant, rounds),
            _fairness(receiver, merchant, rounds),
        ]


class Endpoint:
    """The receiving process."""

    def __init__(self, port: int) -> None:
        self.port = port

    def url(self, kind: str, number: int) -> str:
        """Return an address whose requests are counted under `kind`."""
        return f"http://127.0.0.1:{self.port}/{kind}/{number}"

    def take(self) -> dict[str, list[float]]:
        """Return when requests of each kind arrived since the last call."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.request("GET", "/")
        times: dict[str, list[float]] = json.loads(client.getresponse().read())
        client.close()
        return times

    def await_all(self, kind: str, wanted: int, *, seconds: float = 120) -> list[float]:
        """Wait until that many requests of a kind have arrived; return when each did."""
        found: list[float] = []
        deadline = time.monotonic() + seconds
        while len(found) < wanted and time.monotonic() < deadline:
            time.sleep(0.2)
            found += self.take().get(kind, [])
        if len(found) < wanted:
            raise RuntimeError(f"{len(found)} of {wanted} {kind} requests came")
        return sorted(found)


@contextmanager
def _sender() -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "run_sender"],
        cwd=stack.ROOT,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def make_secret(merchant: int) -> None:
    """Give a merchant a secret for webhooks."""
    from accounts.models import Merchant
    from webhooks.endpoints.secrets import ensure_secret

    ensure_secret(Merchant.objects.get(pk=merchant), now=timezone.now())


def _publish(merchant: int, urls: list[str]) -> None:
    from accounts.states import Mode
    from webhooks.outbox.events import NewEvent, publish

    mark = time.time_ns()
    events = [
        NewEvent(
            merchant_id=merchant,
            mode=Mode.LIVE,
            type="checkout.completed",
            subject_id=f"chk_live_{number}",
            occurrence=f"{mark}:{number}",
            data=BODY,
            url=url,
        )
        for number, url in enumerate(urls)
    ]
    with transaction.atomic():
        publish(events, now=timezone.now())


def _latency(receiver: Endpoint, merchant: int) -> Report:
    series = Series("committed event to received POST", "ms")
    _send_single(receiver, merchant, series, LATENCY_EVENTS)
    claims = [Claim("p50 in ms, idle", series.median, 50, at_most=True)]
    return Report("webhook latency", [series], claims)


def _beside_backlog(receiver: Endpoint, merchant: int) -> Report:
    """Single events, while very many wait for another endpoint, which never answers."""
    series = Series("committed event to received POST", "ms")
    for _ in range(0, STUCK, 1_000):
        _publish(merchant, [receiver.url("dead", 0)] * 1_000)
    _send_single(receiver, merchant, series, LATENCY_BESIDE)
    _empty()
    p99 = statistics.quantiles(series.rounds, n=100)[-1]
    claims = [Claim("p99 in ms", p99, 15, at_most=True)]
    note = f"{STUCK:,} deliveries wait for an endpoint that never answers"
    return Report("webhook latency beside a backlog", [series], claims, [note])


def _send_single(receiver: Endpoint, merchant: int, series: Series, number: int) -> None:
    """Publish so many events, each after the one before has arrived; add the time of each."""
    with _sender():
        _publish(merchant, [receiver.url("warm", 0)])
        receiver.await_all("warm", 1)
        for count in range(number):
            _publish(merchant, [receiver.url("one", count % ENDPOINTS)])
            committed = time.time()
            [arrived] = receiver.await_all("one", 1)
            series.rounds.append(max(arrived - committed, 0) * 1000)


def _backlog(receiver: Endpoint, merchant: int, rounds: int) -> Report:
    sender, bare, celery = (
        Series(n, "POST/s") for n in ("sender", "bare urllib3, 16 threads", "Celery, a task per delivery")
    )
    for _ in range(rounds):
        bare.rounds.append(_drain(receiver, lambda: _bare(receiver), BACKLOG))
        _publish_backlog(receiver, merchant, BACKLOG)
        with _sender():
            sender.rounds.append(_rate_of(receiver.await_all("backlog", BACKLOG)))
        _publish_backlog(receiver, merchant, CELERY_BACKLOG)
        celery.rounds.append(_drain(receiver, lambda: _celery(receiver), CELERY_BACKLOG))
        _empty()
    claims = [
        Claim("sender / bare urllib3", ratio(sender, bare), 1.5),
        Claim("sender / Celery with a task per delivery", ratio(sender, celery), 6.0),
    ]
    return Report("webhook backlog", [bare, sender, celery], claims)


def _publish_backlog(receiver: Endpoint, merchant: int, size: int) -> None:
    for start in range(0, size, 500):
        _publish(merchant, [receiver.url("backlog", n % ENDPOINTS) for n in range(start, start + 500)])


def _rate_of(times: list[float]) -> float:
    return (len(times) - 1) / (times[-1] - times[0])


def _drain(receiver: Endpoint, work: Callable[[], None], wanted: int) -> float:
    work()
    return _rate_of(receiver.await_all("backlog", wanted))


def _bare(receiver: Endpoint) -> None:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", receiver.port, maxsize=16)

    def post(number: int) -> None:
        signature = hmac.new(b"whsec_control", BODY, hashlib.sha256).hexdigest()
        pool.request("POST", f"/backlog/{number % ENDPOINTS}", body=BODY, headers={"X-Service-Signature": signature})

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(post, range(BACKLOG)))


def _celery(receiver: Endpoint) -> None:
    """Start a warm worker at a queue that is full already."""
    from benchmarks.controls.celery_task import app, deliver

    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM webhooks_delivery WHERE status = 'pending'")
        ids = [pk for (pk,) in cursor]
    for pk in ids:
        deliver.apply_async([pk], queue="control")
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "benchmarks.controls.celery_task",
        "worker",
        "-P",
        "threads",
        "-c",
        "16",
    ]
    worker = subprocess.Popen(
        [*command, "-l", "error", "-Q", "control-start"], cwd=stack.ROOT, env=os.environ | {"C_FORCE_ROOT": "1"}
    )
    try:
        _until_ready(app)
        app.control.add_consumer("control", reply=True)
        _until_drained(len(ids))
    finally:
        worker.terminate()
        worker.wait(30)


def _until_ready(app: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not app.control.ping(timeout=0.5):  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            raise RuntimeError("the Celery worker did not start")


def _until_drained(wanted: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'")
            if not cursor.fetchone()[0]:
                return
        time.sleep(0.2)
    raise RuntimeError(f"{wanted} deliveries were not drained")


def _fairness(receiver: Endpoint, merchant: int, rounds: int) -> Report:
    """1,000 healthy deliveries alone, and behind 200 to an endpoint that never answers."""
    alone, behind = (Series("1,000 healthy alone", "s"), Series("behind 200 to a dead endpoint", "s"))
    for _ in range(rounds):
        for series, dead in ((alone, 0), (behind, DEAD)):
            _empty()
            if dead:
                _publish(merchant, [receiver.url("dead", 0)] * dead)
            _publish(merchant, [receiver.url("healthy", n % ENDPOINTS) for n in range(HEALTHY)])
            with _sender():
                times = receiver.await_all("healthy", HEALTHY)
            series.rounds.append(times[-1] - times[0])
    longer = statistics.median(behind.rounds) / statistics.median(alone.rounds)
    return Report("webhook fairness", [alone, behind], [Claim("behind / alone", longer, 1.2, at_most=True)])


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE webhooks_attempt, webhooks_delivery, webhooks_event, webhooks_endpoint CASCADE")
