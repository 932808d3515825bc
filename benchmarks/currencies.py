"""What prices in other currencies cost those in USD: creating checkouts in USD without and with the settings, and in EUR.

The rates are rows, as the task leaves them: no server of a source is asked, because no creation waits for one.
"""

from contextlib import ExitStack
from typing import Final

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import run_load
from benchmarks.report import Claim, Report, Series, ratio

_CLIENTS: Final = 8
_RATES: Final = {"EUR": "1.088260", "USDC": "1", "USDT": "0.9995"}
_ON: Final = {
    "PRICE_CURRENCIES": "EUR",
    "RATE_SOURCES": "kraken,coinbase",
    "DEPEG_GUARD": "true",
    "CHAIN_BASE_TOKENS": "USDC,EURC",
}
# A share of creation's speed without the settings.
_KEPT: Final = 0.98


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Create at 8 clients, on the three in turn, and in the other order every second round."""
    with stack.engines(), ExitStack() as servers:
        # Only now that this process's Django is bound to the engines.
        from tests.rates.playing import store_rates

        _, key = stack.seed_merchant()
        without, with_settings = (
            servers.enter_context(stack.server("benchmarks.product:application", more=more)) for more in ({}, _ON)
        )
        contenders = (
            (Series("USD, without the settings", "req/s"), without, "USD"),
            (Series("USD, with the settings", "req/s"), with_settings, "USD"),
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
    before, after, euros = (series for series, _, _ in contenders)
    claims = [Claim(f"{after.name} / {before.name}", ratio(after, before), _KEPT)]
    notes.append(f"EUR / {before.name}: {ratio(euros, before):.3f}")
    return [Report("currencies", [before, after, euros], claims, notes)]
