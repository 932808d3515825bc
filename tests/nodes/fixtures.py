"""Pytest plugin: local chains, one node of each per worker, as new for each test.

The node of a chain runs for the whole session, with the factory, USDC and USDT deployed and a funded payer
(demo.nodes.factory). What a test does to it is undone after the test. `start_node` gives a test empty nodes of
its own.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.tron.node import TRON_CHAIN_ID, TronNode, prepare_tron
from tests.nodes.empty import serve_empty_chains
from tests.timed import timed

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

ETHEREUM, POLYGON, BASE = 1, 137, 8453

StartNode = Callable[..., Anvil]


class NodePool:
    """The session's nodes by chain id, started and prepared when first asked for."""

    def __init__(self) -> None:
        self._nodes: dict[int, Anvil] = {}
        self._heights: dict[int, int] = {}

    @contextmanager
    def lend(self, chain_id: int) -> Iterator[Anvil]:
        """A chain whose changes are undone at the end, by starting another if there is no other way."""
        node = self._whole(chain_id) or self._start(chain_id)
        snapshot = node.snapshot()
        yield node
        try:
            node.roll_back(snapshot)
            node.set_clock(int(time.time()))
        except (NodeError, OSError):
            self._nodes.pop(chain_id).stop()

    def stop(self) -> None:
        """Stop them all."""
        for node in self._nodes.values():
            node.stop()

    def _whole(self, chain_id: int) -> Anvil | None:
        """The chain's node, unless a block of an earlier test came after its end: blocks below that one are missing."""
        node = self._nodes.get(chain_id)
        if node and node.block_number() != self._heights[chain_id]:
            self._nodes.pop(chain_id).stop()
            return None
        return node

    @timed("node starts")
    def _start(self, chain_id: int) -> Anvil:
        node = self._nodes[chain_id] = Anvil(chain_id).start()
        prepare = prepare_tron if chain_id == TRON_CHAIN_ID else prepare_chain
        prepare(node)
        node.await_blocks()
        self._heights[chain_id] = node.block_number()
        return node


@pytest.fixture(scope="session")
def node_pool() -> Iterator[NodePool]:
    """What the other fixtures take their nodes from."""
    pool = NodePool()
    yield pool
    pool.stop()


@pytest.fixture
def base_node(node_pool: NodePool) -> Iterator[Anvil]:
    """A chain with Base's id, undone after the test."""
    with node_pool.lend(BASE) as node:
        yield node


@pytest.fixture
def polygon_node(node_pool: NodePool) -> Iterator[Anvil]:
    """A chain with Polygon's id, undone after the test."""
    with node_pool.lend(POLYGON) as node:
        yield node


@pytest.fixture
def ethereum_node(node_pool: NodePool) -> Iterator[Anvil]:
    """A chain with Ethereum's id, undone after the test."""
    with node_pool.lend(ETHEREUM) as node:
        yield node


@pytest.fixture
def tron_node(node_pool: NodePool) -> Iterator[TronNode]:
    """A node that stands in for Tron's, undone after the test."""
    with node_pool.lend(TRON_CHAIN_ID) as anvil, TronNode(anvil) as node:
        yield node


@pytest.fixture(scope="session")
def empty_nodes() -> Iterator[dict[str, str]]:
    """The settings of nodes of every chain on which nothing is. Ask for `empty_chains` instead."""
    with serve_empty_chains() as settings:
        yield settings


@pytest.fixture
def empty_chains(settings: Any, empty_nodes: dict[str, str]) -> dict[str, str]:
    """Nodes of every chain that know no account: each address is a new wallet."""
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | empty_nodes
    return empty_nodes


@pytest.fixture(params=[ETHEREUM, BASE, POLYGON], ids=["ethereum", "base", "polygon"])
def evm_node(request: pytest.FixtureRequest, node_pool: NodePool) -> Iterator[Anvil]:
    """Each EVM chain in turn, undone after the test."""
    with node_pool.lend(request.param) as node:
        yield node


@pytest.fixture
def start_node() -> Iterator[StartNode]:
    """Start a node of the test's own, with Anvil's arguments: empty, and stopped after the test."""
    with ExitStack() as stack:

        def start(chain_id: int = BASE, **options: Any) -> Anvil:
            return stack.enter_context(Anvil(chain_id, **options))

        yield start


@pytest.fixture(scope="session")
def solana_process() -> Iterator["SolanaNode"]:
    """The session's Solana node. Ask for `solana_node` instead."""
    # Its library is slow to import, and most workers never need it.
    from localnet.solana.node import SolanaNode

    with SolanaNode() as node:
        yield node


@pytest.fixture
def solana_node(solana_process: "SolanaNode") -> "SolanaNode":
    """A Solana chain of the test's own, with USDC and a funded payer on it."""
    solana_process.reset()
    return solana_process


@pytest.fixture(scope="session")
def ton_process() -> Iterator["TonNode"]:
    """The session's TON node. Ask for `ton_node` instead."""
    from localnet.ton.node import TonNode

    with TonNode() as node:
        yield node


@pytest.fixture
def ton_node(ton_process: "TonNode") -> "TonNode":
    """A TON chain of the test's own, with USDT and a funded payer on it."""
    ton_process.reset()
    return ton_process
