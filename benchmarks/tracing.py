"""What traces cost: creating checkouts without them, with each request traced, and with one in a hundred.

The spans go to a server on this machine that throws them away, as what a collector does with them is not our cost.
"""

from contextlib import ExitStack
from typing import Final

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import run_load
from benchmarks.report import Claim, Report, Series, ratio

_CLIENTS: Final = 8
_ONE_IN_A_HUNDRED: Final = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
# A share of creation's speed without traces.
_KEPT, _KEPT_OF_ONE_IN_A_HUNDRED = 0.75, 0.85


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Create at 8 clients, on the three in turn."""
    with stack.engines(), stack.receiver() as collector, ExitStack() as servers:
        _, key = stack.seed_merchant()
        traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector}"}
        contenders: dict[str, dict[str, str]] = {
            "without traces": {},
            "each request traced": traced,
            "one in a hundred traced": traced | _ONE_IN_A_HUNDRED,
        }
        ports = {
            name: servers.enter_context(stack.server("benchmarks.product:application", more=more))
            for name, more in contenders.items()
        }
        measured = [Series(name, "req/s") for name in ports]
        for port in ports.values():
            warming = creation_requests(key, f"warm-{port}")
            run_load(port, warming, clients=_CLIENTS, seconds=1)
        for number in range(rounds):
            for series, port in zip(measured, ports.values(), strict=True):
                requests = creation_requests(key, f"{port}-{number}")
                done = run_load(port, requests, clients=_CLIENTS, seconds=seconds)
                series.rounds.append(done.rate)
    without, each, some = measured
    claims = [
        Claim(f"{each.name} / {without.name}", ratio(each, without), _KEPT),
        Claim(f"{some.name} / {without.name}", ratio(some, without), _KEPT_OF_ONE_IN_A_HUNDRED),
    ]
    return [Report("tracing", measured, claims)]
