"""Batches are asked in smaller ones where a node takes no more."""

from typing import Any

import pytest

from tests.nodes import proxy as faults
from tests.nodes.proxy import Answer, RpcProxy
from tests.wallets.chains.rpc.test_client import BATCH
from wallets.chains.base import ChainUnavailableError, RangeTooLargeError
from wallets.chains.rpc.client import MOST_IN_BATCH, BatchRefusedError, Node, ask_all


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', 200),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}', 400),
        (b'{"id":1,"result":"0x1"}', 200),
        (b'"invalid request"', 200),
        (b"Bad Request", 400),
        (b"Request Entity Too Large", 413),
        (b"", 500),
    ],
    ids=["error", "400 error", "one answer", "text", "400", "413", "500"],
)
def test_a_batch_is_asked_in_smaller_ones_whatever_way_it_is_refused(
    base_proxy: RpcProxy, rpc_node: Node, body: bytes, status: int
) -> None:
    def alone(proxy: RpcProxy, request: Any, ask: faults.Ask) -> Answer:
        if isinstance(request, list):
            return Answer(body, status=status)
        return faults.honest(base_proxy, request, ask)

    base_proxy.fault = alone
    with pytest.raises(BatchRefusedError):
        rpc_node.batch(BATCH)
    chain_id, *_ = ask_all(rpc_node, BATCH)
    assert chain_id == hex(8453)
    assert rpc_node.most_in_batch == 1


def test_the_size_of_batch_that_a_node_takes_is_remembered(base_proxy: RpcProxy, rpc_node: Node) -> None:
    def few(proxy: RpcProxy, request: Any, ask: faults.Ask) -> Answer:
        if isinstance(request, list) and len(request) > 10:
            return Answer(b"too many", status=413)
        return faults.honest(base_proxy, request, ask)

    base_proxy.fault = few
    calls: list[tuple[str, list[Any]]] = [("eth_chainId", [])] * 50
    assert len(ask_all(rpc_node, calls)) == 50
    before = base_proxy.requests
    assert ask_all(rpc_node, calls) == [hex(8453)] * 50
    assert rpc_node.most_in_batch == 7
    assert base_proxy.requests - before == 8


def test_a_node_that_fails_altogether_is_not_remembered_as_one_without_batches(
    base_proxy: RpcProxy, rpc_node: Node
) -> None:
    base_proxy.fault = faults.garbage(b"", status=500)
    with pytest.raises(ChainUnavailableError):
        ask_all(rpc_node, BATCH)
    assert rpc_node.most_in_batch == MOST_IN_BATCH


def test_a_batch_is_not_smaller_for_a_range_that_was_too_large(base_proxy: RpcProxy, rpc_node: Node) -> None:
    base_proxy.fault = faults.refuses(-32005, "block range too large", method="eth_getLogs")
    with pytest.raises(RangeTooLargeError):
        ask_all(rpc_node, [("eth_chainId", []), ("eth_getLogs", [{}])])
    assert rpc_node.most_in_batch == MOST_IN_BATCH
