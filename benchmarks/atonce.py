"""From a payment's block to its shop's webhook, on all six chains at once, while 100,000 other checkouts of ten merchants are open."""

import random
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks import detection, polling
from benchmarks.detection import POLL_SECONDS
from benchmarks.report import Claim, Report, Series
from benchmarks.sixchains import SixChains, six_chains
from benchmarks.stack import receiver
from benchmarks.webhooks import Endpoint, make_secret
from wallets.chains.registry import CHAINS

OPEN = 100_000
# On Solana and TON each merchant's wallet is read separately.
PER_MERCHANT = 10_000
# What reading, crediting, completing and sending may take after the poll.
ALLOWED_SECONDS = 0.4
SAMPLES_PER_ROUND = 4


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Pay on all chains at once, four times a round, each at a random moment of a second."""
    del seconds
    final_at_once = {f"CHAIN_{facts.name.upper()}_CONFIRMATIONS": "1" for facts in CHAINS}
    with (
        six_chains(CHAIN_POLL_SECONDS=str(POLL_SECONDS), WEBHOOK_ALLOW_LOOPBACK="true", **final_at_once) as running,
        receiver() as port,
    ):
        merchant = detection.open_shop()
        make_secret(merchant)
        polling.fill(OPEN, per_merchant=PER_MERCHANT)
        running.start_readers(roles="watch,tasks,send")
        detection.await_chains(running)
        endpoint = Endpoint(port)
        # The first ones wait for whatever is still starting.
        _pay_on_all(running, merchant, endpoint, "warm")
        return [_measure(running, merchant, endpoint, rounds * SAMPLES_PER_ROUND)]


def _measure(running: SixChains, merchant: int, endpoint: Endpoint, samples: int) -> Report:
    from wallets.networks import chain_spec

    series = {name: Series(f"{name}: block to webhook", "ms") for name in running.chains}
    for number in range(samples):
        took = _pay_on_all(running, merchant, endpoint, f"round{number}")
        for name, seconds in took.items():
            series[name].rounds.append(seconds * 1000)
    claims = []
    for name, told in series.items():
        how = "pushed" if chain_spec(name).ws_url else f"poll {POLL_SECONDS:g} s"
        p95 = statistics.quantiles(told.rounds, n=20)[-1] / 1000
        most = POLL_SECONDS + ALLOWED_SECONDS
        claims.append(Claim(f"{name}: p95 seconds, {how}", p95, most, at_most=True))
    note = f"{samples} payments a chain, final in their first block (TON: with the next), {OPEN:,} others open, of {OPEN // PER_MERCHANT} merchants; medians, and the range of all"
    return Report("six chains at once", list(series.values()), claims, [note])


def _pay_on_all(running: SixChains, merchant: int, endpoint: Endpoint, kind: str) -> dict[str, float]:
    """Pay on each chain within a second; return by chain the seconds from the block to the webhook."""
    together = threading.Barrier(len(running.chains))

    def pay_one(chain: str) -> float:
        return _pay(running, merchant, chain, endpoint.url(f"{kind}-{chain}", 0), together)

    with ThreadPoolExecutor(len(running.chains)) as pool:
        paid = dict(zip(running.chains, pool.map(pay_one, running.chains), strict=True))
    told: dict[str, float] = {}
    deadline = time.monotonic() + detection.PATIENCE
    while len(told) < len(paid):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no webhook for {sorted(paid.keys() - told.keys())}")
        time.sleep(0.1)
        for one, times in endpoint.take().items():
            told[one.removeprefix(f"{kind}-")] = times[0]
    return {chain: told[chain] - moment for chain, moment in paid.items()}


def _pay(running: SixChains, merchant: int, chain: str, url: str, together: threading.Barrier) -> float:
    """Pay a checkout with this webhook address; return when the payment was in its block."""
    from django.db import connection

    try:
        _, option = detection.choose(merchant, chain, webhook_url=url)
    finally:
        connection.close()
    together.wait(detection.PATIENCE)
    time.sleep(random.uniform(0, POLL_SECONDS))
    detection.send(running, chain, option)
    return time.time()
