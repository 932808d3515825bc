"""The local Tron refuses what java-tron refuses, in words that the adapters' client understands.

That local nodes answer in the shapes of recorded answers is in tests/recorded/test_shapes.py. What else they do is relied on, and
so proved, by the tests of the adapters, and by localnet's own.
"""

from typing import Any

import pytest

from localnet.funding import payer
from localnet.tron import USDT, Rules, TronNode
from wallets.chains.base import ChainError, ChainUnavailableError, RangeTooLargeError
from wallets.chains.rpc.client import BatchRefusedError, Node, RefusedError

TRON_WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
ALL_BLOCKS = {"fromBlock": "0x0", "toBlock": "latest"}


def test_tron_refuses_what_java_tron_refuses(tron_node: TronNode) -> None:
    node, words = Node(tron_node.url), [f"0x{number:064x}" for number in range(1_001)]
    tron_node.mine(10)
    assert node.call("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x1", "topics": [words[1:]]}]) == []
    assert Rules().most_blocks == 5_000
    tron_node.rules.most_blocks = 5
    node.call("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x6"}])
    questions: list[tuple[str, list[Any], type[ChainError], str]] = [
        ("eth_getBlockByNumber", ["pending", False], RefusedError, r"TAG pending not supported \(-32602\)"),
        ("eth_getBlockByNumber", ["safe", False], RefusedError, r"TAG safe not supported \(-32602\)"),
        ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x1", "topics": [words]}], ChainError, "max topics: 1000"),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x7"}], RangeTooLargeError, "exceed max block range: 5"),
        ("eth_getLogs", [ALL_BLOCKS | {"address": [USDT]}], RefusedError, "invalid address"),
        ("eth_sendRawTransaction", ["0x"], RefusedError, "does not exist"),
    ]
    for method, params, refusal, told in questions:
        with pytest.raises(refusal, match=told):
            node.call(method, params)
    tron_node.rules.most_results, tron_node.rules.most_blocks = 1, 5_000
    tron_node.pay(TRON_WALLET, 1)
    tron_node.pay(TRON_WALLET, 2)
    with pytest.raises(RangeTooLargeError, match="more than 1 results"):
        node.call("eth_getLogs", [ALL_BLOCKS])
    calls: list[tuple[str, list[object]]] = [("eth_chainId", [])] * 101
    assert len(node.batch(calls[:100])) == 100
    with pytest.raises(BatchRefusedError, match="exceeds the limit of 100"):
        node.batch(calls)
    tron_node.rules.api_key = "the-right-key"
    with pytest.raises(ChainUnavailableError):
        Node(tron_node.url, headers={"TRON-PRO-API-KEY": "another-key"}).call("eth_chainId", [])


def test_tron_solidifies_nineteen_blocks_later_and_knows_no_nonce(tron_node: TronNode) -> None:
    node, grid, anvil = Node(tron_node.url), Node(tron_node.grid_url), tron_node.anvil
    anvil.set_automine(False)
    sent = anvil.send(payer(anvil), to=payer(anvil).address)
    assert node.call("eth_getTransactionByHash", [sent]) is None
    anvil.mine()
    anvil.set_automine(True)
    assert node.call("eth_getTransactionByHash", [sent])["nonce"] is None
    paid = {"value": tron_node.pay(TRON_WALLET, 25)}
    path, confirmed = f"v1/accounts/{TRON_WALLET}/transactions/trc20", [("only_confirmed", "true")]
    assert grid.post("wallet/gettransactioninfobyid", paid)["id"] == paid["value"]
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) == {}
    assert grid.get(path, confirmed)["data"] == []
    tron_node.mine(19)
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) != {}
    assert len(grid.get(path, confirmed)["data"]) == 1
    latest, final = (node.call("eth_getBlockByNumber", [tag, False])["number"] for tag in ("latest", "finalized"))
    assert int(latest, 16) - int(final, 16) == 19
