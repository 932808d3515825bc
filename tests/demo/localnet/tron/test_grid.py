"""The local TronGrid."""

from demo.localnet.tron import TronNode
from tests.demo.localnet.tron.test_node import WALLET
from wallets.chains.rpc.client import Node


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


def test_only_solidified_transactions_are_known_to_the_solidity_node(tron_node: TronNode) -> None:
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
