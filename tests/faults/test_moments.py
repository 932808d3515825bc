"""The traps themselves: which answer they hold, whatever else is asked."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.moments import HeldAnswer, begins_a_pass
from tests.nodes.proxy import RpcProxy
from tests.waiting import wait_until

RECEIPT = "eth_getTransactionReceipt"
NEWEST: dict[str, Any] = {"id": 1, "method": "eth_getBlockByNumber", "params": ["latest", False]}
OLDER: dict[str, Any] = {"id": 1, "method": "eth_getBlockByNumber", "params": ["0x7", False]}
PRICE: dict[str, Any] = {"id": 2, "method": "eth_maxPriorityFeePerGas", "params": []}


def asking(method: str) -> dict[str, Any]:
    return {"id": 1, "method": method, "params": ["0x1"]}


@pytest.fixture
def nodes() -> Iterator[list[RpcProxy]]:
    """Two proxies of no node: the trap is called by itself."""
    with RpcProxy("http://127.0.0.1:1") as first, RpcProxy("http://127.0.0.1:1") as second:
        yield [first, second]


@pytest.fixture
def trap() -> Iterator[HeldAnswer]:
    """It holds the second receipt of a pass."""
    held = HeldAnswer(RECEIPT, 2)
    yield held
    held.released.set()


def is_held(trap: HeldAnswer, node: RpcProxy, request: Any) -> bool:
    """Ask in a thread of its own; return whether the trap has the answer."""
    thread = threading.Thread(target=trap, args=(node, request, lambda asked: {}), daemon=True)
    thread.start()
    wait_until(lambda: trap.caught.is_set() or not thread.is_alive())
    return trap.caught.is_set()


def test_the_second_receipt_of_a_pass_is_held(trap: HeldAnswer, nodes: list[RpcProxy]) -> None:
    for request in (NEWEST, asking("eth_getLogs"), asking(RECEIPT), OLDER, asking("eth_getLogs")):
        assert not is_held(trap, nodes[0], request)
    assert is_held(trap, nodes[0], asking(RECEIPT))


def test_a_pass_that_died_counts_no_more(trap: HeldAnswer, nodes: list[RpcProxy]) -> None:
    for request in (NEWEST, asking(RECEIPT), [NEWEST, {**OLDER, "params": ["safe", False]}], asking(RECEIPT)):
        assert not is_held(trap, nodes[0], request)
    assert is_held(trap, nodes[0], asking(RECEIPT))


def test_each_node_has_a_count_of_its_own(trap: HeldAnswer, nodes: list[RpcProxy]) -> None:
    first, second = nodes
    for node in (first, second):
        assert not is_held(trap, node, asking(RECEIPT))
    assert is_held(trap, second, asking(RECEIPT))


@pytest.mark.parametrize(
    ("request_", "begins"), [(NEWEST, True), ([NEWEST], True), (OLDER, False), ([NEWEST, PRICE], False), (PRICE, False)]
)
def test_a_pass_begins_with_the_newest_block_and_no_price(request_: Any, begins: bool) -> None:
    assert begins_a_pass(request_) is begins
