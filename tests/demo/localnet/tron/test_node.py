"""The stand-in for a Tron node refuses what java-tron refuses, in its words, and TronGrid's fake agrees with it."""

import pytest

from demo.localnet.funding import payer
from demo.localnet.tron import (
    USDT,
    TronNode,
)
from wallets.chains.base import (
    ChainError,
    ChainUnavailableError,
    RangeTooLargeError,
)
from wallets.chains.rpc.client import BatchRefusedError, Node, RefusedError

WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
USDT_HEX = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"


def block_at(node: Node, tag: str) -> int:
    return int(node.call("eth_getBlockByNumber", [tag, False])["number"], 16)


@pytest.mark.parametrize("tag", ["pending", "safe"])
def test_it_refuses_the_tags_that_java_tron_refuses(
    tron_node: TronNode, tag: str
) -> None:
    with pytest.raises(RefusedError, match=rf"TAG {tag} not supported \(-32602\)"):
        Node(tron_node.url).call("eth_getBlockByNumber", [tag, False])


def test_its_solidified_block_is_nineteen_behind_unless_told_otherwise(
    tron_node: TronNode,
) -> None:
    node = Node(tron_node.url)
    tron_node.mine(40)
    assert block_at(node, "latest") - block_at(node, "finalized") == 19
    tron_node.rules.solidified_lag = 3
    assert block_at(node, "latest") - block_at(node, "finalized") == 3


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
        Node(tron_node.url).call(
            "eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}]
        )


def test_it_knows_contracts_in_hexadecimal_only(tron_node: TronNode) -> None:
    node = Node(tron_node.url)
    question = {"fromBlock": "0x0", "toBlock": "latest"}
    assert node.call("eth_getLogs", [question | {"address": USDT_HEX}])
    with pytest.raises(RefusedError, match="invalid address"):
        node.call("eth_getLogs", [question | {"address": [USDT]}])


def test_it_takes_no_transactions(tron_node: TronNode) -> None:
    with pytest.raises(RefusedError, match="does not exist"):
        Node(tron_node.url).call("eth_sendRawTransaction", ["0x"])


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


def test_the_listing_is_paged_and_newest_first(tron_node: TronNode) -> None:
    paid = [tron_node.pay(WALLET, units) for units in (1, 2, 3)]
    grid = Node(tron_node.grid_url)
    path = f"v1/accounts/{WALLET}/transactions/trc20"
    first = grid.get(path, [("limit", "2")])
    mark = first["meta"]["fingerprint"]
    second = grid.get(path, [("limit", "2"), ("fingerprint", mark)])
    rows = first["data"] + second["data"]
    assert [row["transaction_id"] for row in rows] == paid[::-1]
    assert [row["value"] for row in rows] == ["3", "2", "1"]
    assert "fingerprint" not in second["meta"]
    assert not {"block_number", "event_index"} & set(rows[0])


def test_only_solidified_transactions_are_known_to_the_solidity_node(
    tron_node: TronNode,
) -> None:
    paid = {"value": tron_node.pay(WALLET, 25)}
    grid = Node(tron_node.grid_url)
    assert grid.post("wallet/gettransactioninfobyid", paid)["id"] == paid["value"]
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) == {}
    confirmed = [("only_confirmed", "true")]
    path = f"v1/accounts/{WALLET}/transactions/trc20"
    assert grid.get(path, confirmed)["data"] == []
    tron_node.mine(19)
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) != {}
    assert len(grid.get(path, confirmed)["data"]) == 1


def test_a_transaction_is_known_once_it_is_in_a_block_and_has_no_nonce(
    tron_node: TronNode,
) -> None:
    node, anvil = Node(tron_node.url), tron_node.anvil
    anvil.set_automine(False)
    sent = anvil.send(payer(anvil), to=payer(anvil).address)
    assert node.call("eth_getTransactionByHash", [sent]) is None
    anvil.mine()
    anvil.set_automine(True)
    told = node.call("eth_getTransactionByHash", [sent])
    assert (told["hash"], told["nonce"]) == (sent, None)
