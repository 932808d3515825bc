"""Local EVM chains for the demo: real nodes, kept running, remembered between starts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gateway.core.embedded.processes import Command
from tests.nodes.anvil import Anvil, FundedAccount, anvil_binary
from tests.nodes.errors import NodeStartError
from tests.nodes.local_chain import payer, prepare_chain

CHAIN_IDS = {"base": 8453, "polygon": 137, "ethereum": 1}
# What the product accepts on each of them.
TOKENS = {
    "base": ("USDC",),
    "polygon": ("USDC", "USDT"),
    "ethereum": ("USDC", "USDT"),
}
START_SECONDS = 30.0
STEP_SECONDS = 0.02

# The first two of the accounts that every anvil node funds, with keys known to
# everybody: they are derived from the node's published test mnemonic.
ACCOUNTS = [
    FundedAccount(
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    ),
    FundedAccount(
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    ),
]


@dataclass(frozen=True)
class LocalChain:
    """A chain to pay on: where its node is, and a key that holds coin and tokens."""

    name: str
    rpc_url: str
    chain_id: int
    tokens: Mapping[str, str]
    funded_address: str
    funded_private_key: str

    def as_json(self) -> dict[str, object]:
        """The form var/demo.json has, under the chain's name."""
        fields = asdict(self)
        del fields["name"]
        return fields


class KeptNode(Anvil):
    """A node whose process the stack runs; this object only talks to it."""

    def __init__(self, name: str, *, port: int, folder: Path) -> None:
        state = folder / f"{name}.json"
        super().__init__(CHAIN_IDS[name], port=port, state=state, extra=["--silent"])
        self.name = name
        self.accounts = ACCOUNTS

    def await_answer(self) -> None:
        """Return once the node answers. Raises `NodeStartError` after half a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                self.block_number()
            except OSError:
                time.sleep(STEP_SECONDS)
            else:
                return
        message = f"The {self.name} node does not answer at {self.url}."
        raise NodeStartError(message)


class LocalChains:
    """The demo's nodes. `folder` keeps their state, `port` picks each one's port.

    Raises `NodeMissingError` when the node's program is not installed.
    """

    def __init__(self, folder: Path, *, port: Callable[[int], int]) -> None:
        anvil_binary()
        self.nodes = [
            KeptNode(name, port=port(number), folder=folder)
            for number, name in enumerate(CHAIN_IDS)
        ]

    def commands(self, make: Callable[..., Command]) -> list[Command]:
        """The programs to keep running, made by `make(name, *argv)`."""
        return [
            replace(make(node.name, *node.command()), prepare=node.prepare_state)
            for node in self.nodes
        ]

    def prepare(self) -> list[LocalChain]:
        """Wait for the nodes; deploy factory and tokens, fund the payer, once."""
        return [self._prepared(node) for node in self.nodes]

    def _prepared(self, node: KeptNode) -> LocalChain:
        node.await_answer()
        tokens = prepare_chain(node)
        return LocalChain(
            name=node.name,
            rpc_url=node.url,
            chain_id=node.chain_id,
            tokens={symbol: tokens[symbol] for symbol in TOKENS[node.name]},
            funded_address=payer(node).address,
            funded_private_key=payer(node).key,
        )
