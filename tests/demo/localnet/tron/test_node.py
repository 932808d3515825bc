"""The stand-in for a Tron node refuses what java-tron refuses, in its words, and TronGrid's fake agrees with it."""

from demo.localnet.funding import payer
from demo.localnet.tron import TronNode
from wallets.chains.rpc.client import Node

WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"


def block_at(node: Node, tag: str) -> int:
    return int(node.call("eth_getBlockByNumber", [tag, False])["number"], 16)


def test_its_solidified_block_is_nineteen_behind_unless_told_otherwise(tron_node: TronNode) -> None:
    node = Node(tron_node.url)
    tron_node.mine(40)
    assert block_at(node, "latest") - block_at(node, "finalized") == 19
    tron_node.rules.solidified_lag = 3
    assert block_at(node, "latest") - block_at(node, "finalized") == 3


def test_a_transaction_is_known_once_it_is_in_a_block_and_has_no_nonce(tron_node: TronNode) -> None:
    node, anvil = Node(tron_node.url), tron_node.anvil
    anvil.set_automine(False)
    sent = anvil.send(payer(anvil), to=payer(anvil).address)
    assert node.call("eth_getTransactionByHash", [sent]) is None
    anvil.mine()
    anvil.set_automine(True)
    told = node.call("eth_getTransactionByHash", [sent])
    assert (told["hash"], told["nonce"]) == (sent, None)
