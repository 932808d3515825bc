"""What the nodes of the tests rest on: the pool that lends them, and where real tokens are."""

from localnet import published
from localnet.funding import PAYER_UNITS, payer
from localnet.tokens import balance_of, token_address
from tests.nodes.fixtures import NodePool
from wallets.chains.registry import CHAINS


def test_the_pool_replaces_a_node_that_cannot_go_back() -> None:
    pool = NodePool()
    with pool.lend(8453) as node:
        genesis = node.block(0)["hash"]
    with pool.lend(8453) as node:
        assert node.block(0)["hash"] == genesis
        node.shorten(2)  # past the blocks of this test
    with pool.lend(8453) as node:
        node.stop()
    with pool.lend(8453) as node:
        assert balance_of(node, token_address("USDC"), payer(node).address) == PAYER_UNITS
    pool.stop()


def test_the_pool_replaces_a_node_on_which_a_block_came_after_the_end_of_a_test() -> None:
    pool = NodePool()
    with pool.lend(8453) as node:
        height = node.block_number()
    node.mine()
    with pool.lend(8453) as other:
        assert other.block_number() == height
        assert other is not node
    pool.stop()


def test_local_tokens_are_where_the_product_takes_the_real_ones_to_be() -> None:
    chains = {facts.mainnet.chain_id: facts.mainnet.tokens for facts in CHAINS}
    for symbol, places in (("USDC", published.USDC), ("USDT", published.USDT)):
        assert {number: chains[number][symbol] for number in places} == places
