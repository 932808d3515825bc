"""Verifying machines' payments (x402, proof by hash): recorded ones against creating checkouts, others against their node."""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection
from itertools import count
from typing import Any

import orjson

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import http_request, run_load
from benchmarks.report import Claim, Report, Series, ratio
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from tests.nodes.proxy import Answer, Ask, RpcProxy, honest
from wallets.chains.evm.find import receipt_of
from wallets.chains.rpc.client import Node

CLIENTS = (4, 16)
PATH = "/api/v1/x402/verify"
_PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
_UNITS = 10_000
# More than any machine verifies in the time.
_TRANSFERS = 200_000
_SAMPLES = 40
# The latency of remote nodes.
_AWAY_SECONDS = 0.04

_RECORD = """
    INSERT INTO wallets_transfer (
        chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id, purpose, merchant_id, mode,
        labels, block_height, block_hash, block_time, state, detected_at, confirmed_at)
    SELECT 'base', '0x' || lpad(to_hex(n), 64, '0'), 0, 'USDC', %s, %s, %s, %s, d.id, 'x402', d.merchant_id, 'live',
           '[]', 50, '0x00', now(), 'confirmed', now(), now()
    FROM generate_series(1, %s) AS n, wallets_depositaddress d WHERE d.key = %s
"""


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure rates at 4 and 16 clients, then how long one request takes."""
    with Anvil(8453) as node, RpcProxy(node.url) as proxy, stack.engines(**_settings(proxy.url)):
        prepare_chain(node)
        merchant, key = stack.seed_merchant()
        to = _record(merchant)
        with stack.server("benchmarks.product:application") as port:
            numbers = count(1)
            reports = [_rates(port, key, to, numbers, clients, rounds, seconds) for clients in CLIENTS]
            return [*reports, _latencies(node, proxy, port, key, to, numbers)]


def _settings(node_url: str) -> dict[str, str]:
    return {
        "CHAIN_BASE_RPC_URLS": node_url,
        "CHAIN_BASE_TOKEN_USDC": token_address("USDC"),
        "CHAIN_BASE_REQUESTS_PER_MINUTE": "100000",
    }


def _record(merchant_id: int) -> str:
    """Let the merchant's machines have paid very often, all of it final; return where."""
    from django.db import connection

    from accounts.states import Mode
    from x402.payments.addresses import pay_to

    to = pay_to(merchant_id, Mode.LIVE, "base")
    assert to is not None
    token = token_address("USDC")
    with connection.cursor() as cursor:
        key = bytes.fromhex(to[2:])
        cursor.execute(_RECORD, (token, _UNITS, _PAYER, to, _TRANSFERS, key))
        cursor.execute("ANALYZE")
    return to


def _body(tx_hash: str, to: str, sender: str = _PAYER) -> bytes:
    payment = {"chain": "base", "token": "USDC", "amount": "0.01"}
    wanted = {"scheme": "exact", "network": "base", "asset": "USDC"}
    return orjson.dumps(
        {
            "payment": payment | {"txHash": tx_hash, "payerAddress": sender, "payTo": to},
            "requirements": wanted | {"maxAmountRequired": "0.01", "resource": "https://shop.example/r"},
        }
    )


def _requests(key: str, to: str, numbers: Iterator[int]) -> Iterator[bytes]:
    for number in numbers:
        body = _body(f"0x{number:064x}", to)
        yield http_request("POST", PATH, key=key, body=body)


def _rates(port: int, key: str, to: str, numbers: Iterator[int], clients: int, rounds: int, seconds: float) -> Report:
    creating, verifying = Series("creating", "req/s"), Series("verifying", "req/s")
    run_load(port, _requests(key, to, numbers), clients=clients, seconds=1)
    run_load(port, creation_requests(key, f"w{clients}"), clients=clients, seconds=1)
    before, answered, notes = _payments(), 0, []
    for number in range(rounds):
        made = run_load(port, creation_requests(key, f"{clients}-{number}"), clients=clients, seconds=seconds)
        creating.rounds.append(made.rate)
        told = run_load(port, _requests(key, to, numbers), clients=clients, seconds=seconds)
        verifying.rounds.append(told.rate)
        answered += sum(told.statuses.values())
        notes += [f"{one.failures} no success" for one in (made, told) if one.failures]
    # Answers still pending at a round's end are not counted.
    notes.append(f"{answered} answers, {_payments() - before} payments used up")
    claims = [Claim("verifying / creating checkouts", ratio(verifying, creating), 1.0)]
    name = f"x402 verification, {clients} clients"
    return Report(name, [creating, verifying], claims, notes)


def _payments() -> int:
    from x402.models import X402Payment

    return X402Payment.objects.count()


def _latencies(node: Anvil, proxy: RpcProxy, port: int, key: str, to: str, numbers: Iterator[int]) -> Report:
    unread = [transfer(node, payer(node), token_address("USDC"), to, _UNITS) for _ in range(_SAMPLES)]
    node.mine(20)
    recorded = [f"0x{next(numbers):064x}" for _ in range(_SAMPLES)]
    sender, proxy.fault = payer(node).address, _far_away
    connection, rpc = HTTPConnection("127.0.0.1", port), Node(proxy.url)
    ask = partial(_ask, connection, key)
    known = _timed("recorded", recorded, lambda tx: ask(_body(tx, to)))
    before = proxy.requests
    unknown = _timed("known to the node only", unread, lambda tx: ask(_body(tx, to, sender)))
    # The first one also checks the node's chain.
    asked = (proxy.requests - before - 1) / _SAMPLES
    trip = _timed("a round trip to the node", unread, lambda tx: rpc.call(*receipt_of(tx)))
    connection.close()
    rpc.close()
    more = (unknown.median - known.median) / trip.median
    claims = [
        Claim("requests to the node", asked, 1.0, at_most=True),
        Claim("more time than recorded, in round trips", more, 1.2, at_most=True),
    ]
    return Report("x402 verification, one at a time", [known, unknown, trip], claims)


def _far_away(proxy: RpcProxy, request: Any, ask: Ask) -> Answer:
    """Answer like a remote node."""
    answer = honest(proxy, request, ask)
    time.sleep(_AWAY_SECONDS)
    return answer


def _timed(name: str, hashes: list[str], ask: Callable[[str], object]) -> Series:
    found = Series(name, "ms")
    for tx_hash in hashes:
        started = time.perf_counter()
        ask(tx_hash)
        found.rounds.append(1000 * (time.perf_counter() - started))
    # The first ones open connections.
    found.rounds = [statistics.median(found.rounds[5:])]
    return found


def _ask(connection: HTTPConnection, key: str, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", PATH, body, headers)
    answer = orjson.loads(connection.getresponse().read())
    if answer.get("valid") is not True:
        raise RuntimeError(f"a payment was refused: {answer}")
