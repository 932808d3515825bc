"""Local chains for the demo: real nodes and emulators, kept running."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from demo.families import DEMO_CHAINS, DEMO_FAMILIES
from demo.nodes.base import CommandMaker, DemoNode, LocalChain
from gateway.core.embedded.processes import ChildCommand
from localnet.anvil import anvil_binary
from localnet.ton import node as ton

PortChooser = Callable[[int], int]
"""Picks a port for each number, counted from zero."""


class LocalChains:
    """The demo's nodes. `folder` keeps the state of those that have one, `port` picks each one's port.

    Raises `NodeMissingError` when a node's program is not installed.
    """

    def __init__(self, folder: Path, *, port: PortChooser) -> None:
        anvil_binary()
        ton.node_command()
        ports = map(port, count())
        self.nodes: list[DemoNode] = [
            DEMO_FAMILIES[facts.family.name].node(facts, ports, folder) for facts in DEMO_CHAINS
        ]

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The programs to keep running, made by `make(name, *argv)`."""
        return [command for node in self.nodes for command in node.commands(make)]

    def mined_urls(self) -> list[str]:
        """The nodes that `demo.nodes.miner` makes blocks on."""
        return [url for node in self.nodes for url in node.mined_urls()]

    def prepare(self) -> list[LocalChain]:
        """Wait for all nodes at once; each chain comes back ready to pay on. Raises `NodeStartError`."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            return list(pool.map(_prepare, self.nodes))


def _prepare(node: DemoNode) -> LocalChain:
    return node.prepare()
