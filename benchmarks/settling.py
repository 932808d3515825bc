"""Settling machines' payments (the public x402 standard, EIP-3009): from request to answer, against the node's own time.

The control sends the same call, signed beforehand, and asks for its receipt without a pause. Payments and controls take
turns, so that a busy machine slows both. Each transaction makes a block at once: what is left is what the product adds.
"""

import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any, Final

import orjson

from benchmarks import stack
from benchmarks.report import Claim, Report, Series
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.authorizations import Authorization, authorize, lay_usdc
from tests.x402.exact.bodies import body_of

PATH: Final = "/api/v1/x402/settle"
MORE_MS: Final = 20.0
_UNITS: Final = 10_000
# Each of the server's threads opens its own connections.
_WARM: Final = 30
_SAMPLES: Final = 100


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure one payment after the other."""
    del rounds, seconds
    with Anvil(8453) as node, stack.engines(**_settings(node)):
        prepare_chain(node)
        usdc = lay_usdc(node)
        merchant, key = stack.seed_merchant()
        to = _pay_to(merchant)
        with stack.server("benchmarks.product:application") as port:
            shop = _Shop(node, port, key, to, usdc)
            shop.measure(_WARM)
            measured = shop.measure(_SAMPLES)
            shop.close()
    return [_report("x402 settlement, one at a time", measured)]


def _settings(node: Anvil) -> dict[str, str]:
    return {
        "CHAIN_BASE_RPC_URLS": node.url,
        "CHAIN_POLYGON_RPC_URLS": "",
        "GAS_KEYS": node.accounts[3].key,
        "GAS_DAILY_COINS": "base=1000",
    }


def _pay_to(merchant_id: int) -> str:
    from accounts.states import Mode
    from x402.payments.addresses import pay_to

    to = pay_to(merchant_id, Mode.LIVE, "base")
    assert to is not None
    return to


class _Shop:
    """A merchant that is paid, and a third party that sends the same calls by hand."""

    def __init__(self, node: Anvil, port: int, key: str, to: str, usdc: str) -> None:
        self._node = node
        self._http = HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._to = to
        self._usdc = usdc

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def measure(self, samples: int) -> tuple[Sequence[float], Sequence[float]]:
        """Return how long settlements and controls took, in milliseconds."""
        settled, controls = [], []
        for _ in range(samples):
            controls.append(self._control(self._authorize()))
            settled.append(self._settle(self._authorize()))
        return settled, controls

    def _authorize(self) -> Authorization:
        return authorize(self._node, self._to, _UNITS)

    def _settle(self, told: Authorization) -> float:
        body = orjson.dumps(body_of(told, self._usdc))
        started = time.perf_counter()
        self._http.request("POST", PATH, body, self._headers)
        answer = orjson.loads(self._http.getresponse().read())
        took = time.perf_counter() - started
        if answer.get("success") is not True:
            raise RuntimeError(f"a payment was not settled: {answer}")
        return 1_000 * took

    def _control(self, told: Authorization) -> float:
        sender = self._node.accounts[4]
        raw = self._node.sign(sender, to=self._usdc, data=told.call(), gas=200_000)
        started = time.perf_counter()
        tx_hash: Any = self._node.rpc("eth_sendRawTransaction", raw)
        while self._node.rpc("eth_getTransactionReceipt", tx_hash) is None:
            pass
        return 1_000 * (time.perf_counter() - started)


def _report(name: str, measured: tuple[Sequence[float], Sequence[float]]) -> Report:
    settled = Series("settling", "ms", list(measured[0]))
    control = Series("the node's own sending and receipt", "ms", list(measured[1]))
    more = settled.median - control.median
    return Report(
        name, [control, settled], [Claim("more than the node's own time, in ms", more, MORE_MS, at_most=True)]
    )
