"""What prices in other currencies cost those in USD: creating checkouts in USD by the release before, by this one without and with the
settings, and where checkouts offer EURC; and creating in EUR.

All take turns, in the other order every second round. Two per cent is less than seconds of one server differ: use `--rounds 21`.
The rates are rows, as the task leaves them: no server of a source is asked, because no creation waits for one. The release before runs on
this one's tables, as it does while an installation is upgraded.
"""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import run_load
from benchmarks.report import Claim, Report, Series, ratio

_CLIENTS: Final = 8
_RATES: Final = {"EUR": "1.088260", "USDC": "1", "USDT": "0.9995"}
_ON: Final = {
    "PRICE_CURRENCIES": "EUR",
    "RATE_SOURCES": "kraken,coinbase,bitstamp",
    "DEPEG_GUARD": "true",
    "CHAIN_BASE_TOKENS": "USDC,EURC",
}
# A checkout in USD then offers one token more, at a due of its own: there is no such checkout before, so nothing is claimed of it.
_OFFERED: Final = _ON | {"CHAIN_BASE_CHECKOUT_TOKENS": "USDC,EURC"}
_BEFORE: Final = "0.25.0"
_APPLICATION: Final = "benchmarks.product:application"
# A share of creation's speed before.
_KEPT: Final = 0.98


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Create at 8 clients, on each in turn, and in the other order every second round."""
    with stack.engines(), ExitStack() as servers:
        # Only now that this process's Django is bound to the engines.
        from tests.rates.playing import store_rates

        _, key = stack.seed_merchant()
        older = servers.enter_context(stack.server(_APPLICATION, folder=_tree(servers)))
        without, with_settings, offering = (
            servers.enter_context(stack.server(_APPLICATION, more=more)) for more in ({}, _ON, _OFFERED)
        )
        contenders = (
            (Series(f"USD, release {_BEFORE}", "req/s"), older, "USD"),
            (Series("USD, without the settings", "req/s"), without, "USD"),
            (Series("USD, with the settings", "req/s"), with_settings, "USD"),
            (Series("USD, offering EURC", "req/s"), offering, "USD"),
            (Series("EUR", "req/s"), with_settings, "EUR"),
        )
        store_rates(_RATES)
        for series, port, currency in contenders:
            run_load(port, creation_requests(key, f"warm-{series.name}", currency), clients=_CLIENTS, seconds=1)
        notes: list[str] = []
        for number in range(rounds):
            # A rate is good for three minutes.
            store_rates(_RATES)
            for series, port, currency in contenders if number % 2 else contenders[::-1]:
                requests = creation_requests(key, f"{series.name}-{number}", currency)
                done = run_load(port, requests, clients=_CLIENTS, seconds=seconds)
                series.rounds.append(done.rate)
                if done.failures:
                    notes.append(f"{series.name}: {done.failures} answers were no success")
    release, before, after, *others = (series for series, _, _ in contenders)
    claims = [
        Claim(f"{one.name} / {base.name}", ratio(one, base), _KEPT)
        for one, base in ((before, release), (after, release), (after, before))
    ]
    notes += [f"{one.name} / {before.name}: {ratio(one, before):.3f}" for one in others]
    return [Report("currencies", [release, before, after, *others], claims, notes)]


def _tree(servers: ExitStack) -> Path:
    """Return the source tree of the release before, until the servers end. Exits where this copy's history lacks it."""
    from tests.deploy.releases import export

    folder = Path(servers.enter_context(TemporaryDirectory()))
    try:
        return export(_BEFORE, folder)
    except pytest.skip.Exception as missing:
        raise SystemExit(str(missing)) from None
