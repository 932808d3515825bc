"""Each chain family's node, paying wallet and receiving wallet in the demo.

This is the demo's only table of families. A new chain of a listed family needs no change.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from demo.wallets.base import ChainEntry, Transfer
from wallets.chains.family import ChainFacts
from wallets.chains.registry import CHAINS

if TYPE_CHECKING:
    from demo.nodes.base import DemoNode
    from demo.nodes.evm import KeptAnvil


@dataclass(frozen=True)
class DemoFamily:
    """`node` takes a chain, the ports to choose from and a folder for its state. `send` returns the transaction's hash.

    `receiving_wallet` holds nothing outside of the demo: on EVM chains and Tron one of the accounts that every local node
    knows, elsewhere an address without an owner.
    """

    node: "Callable[[ChainFacts, Iterator[int], Path], DemoNode]"
    send: Callable[[ChainEntry, Transfer], str]
    receiving_wallet: str


# Imported late, because these imports are slow: a wallet needs neither the nodes nor other families.
def _evm_node(facts: ChainFacts, ports: Iterator[int], folder: Path) -> "DemoNode":
    from demo.nodes.evm import EvmNode

    return EvmNode(facts.name, facts.symbols, _anvil(facts, next(ports), folder))


def _tron_node(facts: ChainFacts, ports: Iterator[int], folder: Path) -> "DemoNode":
    from demo.nodes.tron import TronNode

    return TronNode(_anvil(facts, next(ports), folder), port=next(ports))


def _ton_node(facts: ChainFacts, ports: Iterator[int], folder: Path) -> "DemoNode":
    from demo.nodes.ton import TonNode
    from localnet.ton import node

    return TonNode(node.TonNode(port=next(ports)))


def _solana_node(facts: ChainFacts, ports: Iterator[int], folder: Path) -> "DemoNode":
    from demo.nodes.solana import SolanaNode
    from localnet.solana import node

    return SolanaNode(node.SolanaNode(port=next(ports)))


def _anvil(facts: ChainFacts, port: int, folder: Path) -> "KeptAnvil":
    from demo.nodes.evm import KeptAnvil

    chain_id = facts.mainnet.chain_id or 0  # each of these chains has one
    return KeptAnvil(facts.name, chain_id=chain_id, port=port, folder=folder)


def _send_on_evm(chain: ChainEntry, order: Transfer) -> str:
    from demo.wallets import evm

    return evm.send(chain, order)


def _send_on_solana(chain: ChainEntry, order: Transfer) -> str:
    from demo.wallets import solana

    return solana.send(chain, order)


def _send_on_ton(chain: ChainEntry, order: Transfer) -> str:
    from demo.wallets import ton

    return ton.send(chain, order)


DEMO_CHAINS: Final = tuple(facts for facts in CHAINS if not facts.is_optional)
"""The chains that the demo has nodes of: those that every installation lists."""

DEMO_FAMILIES: Final = {
    "evm": DemoFamily(_evm_node, _send_on_evm, "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"),
    "tron": DemoFamily(_tron_node, _send_on_evm, "TQe8oR3LibG2EHCMUe6WgvHXhAVpRLizBz"),
    "solana": DemoFamily(_solana_node, _send_on_solana, "A68C3ZW7EYAwVd13uy47ZNFpK5hM5E3SB5xFXmfeqY8M"),
    "ton": DemoFamily(_ton_node, _send_on_ton, "EQBxIdCdjlXzPyaqTXZdjFtYY9liBVCfKUlnLawhsy-ekDBj"),
}
