"""Limits of the local Tron node."""

import pytest

from demo.localnet.tron import Rules, TronNode
from demo.localnet.tron.rules import RateLimit
from wallets.chains.base import ChainUnavailableError, RangeTooLargeError
from wallets.chains.rpc.client import Node


def test_it_gives_five_thousand_blocks_and_no_more(tron_node: TronNode) -> None:
    tron_node.rules.most_blocks = 5
    tron_node.mine(10)
    node = Node(tron_node.url)
    node.call("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x6"}])
    with pytest.raises(RangeTooLargeError, match="exceed max block range: 5"):
        node.call("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x7"}])
    assert Rules().most_blocks == 5_000


@pytest.mark.parametrize(("limit", "seconds"), [(RateLimit.SERVLET, 2), (RateLimit.BAN, 30)])
def test_it_says_in_two_ways_that_it_is_asked_too_often(tron_node: TronNode, limit: RateLimit, seconds: float) -> None:
    tron_node.rules.rate_limit = limit
    node = Node(tron_node.url)
    for ask in (lambda: node.call("eth_chainId", []), lambda: node.get("v1")):
        with pytest.raises(ChainUnavailableError) as caught:
            ask()
        assert caught.value.retry_after == seconds
