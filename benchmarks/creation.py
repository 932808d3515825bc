"""Creating checkouts: the product against pgbench writing the same rows, an idiomatic DRF version and a tuned FastAPI one."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import orjson

from benchmarks import pgbench, stack
from benchmarks.load import http_request, run_load
from benchmarks.report import Claim, Report, Series, ratio

CLIENTS = (4, 8, 16)


def creation_requests(key: str, prefix: str, currency: str = "USD") -> Iterator[bytes]:
    """Requests as a shop sends them, each with an order_ref of its own."""
    for number in count():
        body = {
            "amount": "49.00",
            "currency": currency,
            "description": "Ethiopia Guji, 3 x 250 g",
            "metadata": {"cart": ["guji", "sidamo"], "note": "leave at the door"},
            "redirect_url": "https://shop.example/thanks",
            "customer_ref": f"customer-{number}",
            "product_ref": "product-7",
            "order_ref": f"order-{prefix}-{number}",
        }
        yield http_request("POST", "/api/v1/checkouts", key=key, body=orjson.dumps(body))


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure at 4, 8 and 16 clients."""
    with stack.engines() as urls, ExitStack() as servers:
        merchant, key = stack.seed_merchant()
        ports = {
            "product": servers.enter_context(stack.server("benchmarks.product:application")),
            "idiomatic DRF": servers.enter_context(
                stack.server("gateway.rsgi:application", settings="benchmarks.controls.idiomatic_settings")
            ),
            "tuned FastAPI": servers.enter_context(stack.uvicorn("benchmarks.controls.tuned:app")),
        }
        return [_at(clients, ports, urls.database_url, merchant, key, rounds, seconds) for clients in CLIENTS]


def _at(
    clients: int, ports: dict[str, int], database_url: str, merchant: int, key: str, rounds: int, seconds: float
) -> Report:
    base = Series("pgbench, same rows", "tx/s")
    contenders = {name: Series(name, "req/s") for name in ports}
    notes = []
    for port in ports.values():
        run_load(port, creation_requests(key, f"warm-{port}-{clients}"), clients=clients, seconds=1)
    for number in range(rounds):
        base.rounds.append(
            pgbench.transactions_per_second(database_url, merchant, clients=clients, seconds=max(1, round(seconds)))
        )
        for name, port in ports.items():
            requests = creation_requests(key, f"{name[:2]}-{clients}-{number}")
            result = run_load(port, requests, clients=clients, seconds=seconds)
            contenders[name].rounds.append(result.rate)
            if result.failures:
                notes.append(f"{name}: {result.failures} answers were no success")
    product = contenders["product"]
    claims = [
        Claim("product / pgbench", ratio(product, base), 0.35),
        Claim("product / idiomatic DRF", ratio(product, contenders["idiomatic DRF"]), 4.0),
        Claim("product / tuned FastAPI + asyncpg", ratio(product, contenders["tuned FastAPI"]), 1.0),
    ]
    return Report(f"checkout creation, {clients} clients", [base, *contenders.values()], claims, notes)
