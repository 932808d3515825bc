"""The demo's block maker, tick by tick."""

import pytest

from demo.nodes.miner import DEPTH, Chain
from localnet.anvil import Anvil
from tests.nodes.fixtures import StartNode


def use(node: Anvil) -> int:
    """Put a transaction on the chain; returns its block's height."""
    sent = node.send(node.accounts[0], to=node.accounts[1].address, value=1)
    return int(node.receipt(sent)["blockNumber"], 16)


def test_an_idle_chain_gets_a_block_a_minute_and_no_more(start_node: StartNode) -> None:
    node = start_node()
    chain = Chain(node.url)
    chain.tick()
    chain.tick()
    assert node.block_number() == 0
    for minute in (1, 2):
        chain.grew_at -= 60
        chain.tick()
        chain.tick()
        assert node.block_number() == minute


def test_a_transaction_is_buried_deep_enough_and_then_left(start_node: StartNode) -> None:
    node = start_node()
    chain = Chain(node.url)
    used = use(node)
    for _ in range(DEPTH + 5):
        chain.tick()
    assert node.block_number() == used + DEPTH


def test_a_chain_that_began_anew_is_read_from_its_beginning(start_node: StartNode) -> None:
    node = start_node()
    chain = Chain(node.url)
    node.mine(50)
    chain.tick()
    node.shorten(45)
    used = use(node)
    chain.tick()
    assert (chain.newest_used, node.block_number()) == (used, used + 1)


def test_a_node_that_is_away_raises_to_the_loop(start_node: StartNode) -> None:
    node = start_node()
    chain = Chain(node.url)
    node.stop()
    with pytest.raises(OSError, match="refused"):
        chain.tick()
