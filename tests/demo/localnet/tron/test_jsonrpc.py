"""What the local Tron's JSON-RPC refuses, as java-tron does."""

import pytest

from demo.localnet.tron import USDT, TronNode
from tests.demo.localnet.tron.test_node import WALLET
from wallets.chains.base import ChainError, RangeTooLargeError
from wallets.chains.rpc.client import Node, RefusedError

USDT_HEX = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"


@pytest.mark.parametrize("tag", ["pending", "safe"])
def test_it_refuses_the_tags_that_java_tron_refuses(tron_node: TronNode, tag: str) -> None:
    with pytest.raises(RefusedError, match=rf"TAG {tag} not supported \(-32602\)"):
        Node(tron_node.url).call("eth_getBlockByNumber", [tag, False])


def test_it_takes_a_thousand_topics_in_one_place(tron_node: TronNode) -> None:
    node = Node(tron_node.url)
    words = [f"0x{number:064x}" for number in range(1_001)]
    question = {"fromBlock": "0x0", "toBlock": "0x1"}
    assert node.call("eth_getLogs", [question | {"topics": [words[1:]]}]) == []
    with pytest.raises(ChainError, match="exceed max topics: 1000"):
        node.call("eth_getLogs", [question | {"topics": [words]}])


def test_it_finds_no_more_than_its_limit(tron_node: TronNode) -> None:
    tron_node.rules.most_results = 1
    tron_node.pay(WALLET, 1)
    tron_node.pay(WALLET, 2)
    with pytest.raises(RangeTooLargeError, match="more than 1 results"):
        Node(tron_node.url).call("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}])


def test_it_knows_contracts_in_hexadecimal_only(tron_node: TronNode) -> None:
    node = Node(tron_node.url)
    question = {"fromBlock": "0x0", "toBlock": "latest"}
    assert node.call("eth_getLogs", [question | {"address": USDT_HEX}])
    with pytest.raises(RefusedError, match="invalid address"):
        node.call("eth_getLogs", [question | {"address": [USDT]}])


def test_it_takes_no_transactions(tron_node: TronNode) -> None:
    with pytest.raises(RefusedError, match="does not exist"):
        Node(tron_node.url).call("eth_sendRawTransaction", ["0x"])
