"""What the local Tron's server takes: smaller batches, and the key."""

import pytest

from demo.localnet.tron import TronNode
from wallets.chains.base import ChainUnavailableError
from wallets.chains.rpc.client import BatchRefusedError, Node


def test_it_wants_smaller_batches_or_none(tron_node: TronNode) -> None:
    node = Node(tron_node.url)
    calls: list[tuple[str, list[object]]] = [("eth_chainId", [])] * 101
    assert len(node.batch(calls[:100])) == 100
    with pytest.raises(BatchRefusedError, match="exceeds the limit of 100"):
        node.batch(calls)
    tron_node.rules.takes_batches = False
    with pytest.raises(BatchRefusedError):
        node.batch(calls[:2])


def test_it_lets_nobody_in_without_the_key(tron_node: TronNode) -> None:
    tron_node.rules.api_key = "the-right-key"
    for headers in ({}, {"TRON-PRO-API-KEY": "another-key"}):
        with pytest.raises(ChainUnavailableError):
            Node(tron_node.url, headers=headers).call("eth_chainId", [])
    right = Node(tron_node.url, headers={"TRON-PRO-API-KEY": "the-right-key"})
    assert right.call("eth_chainId", []) == hex(728126428)
