"""Ethereum, Base and Polygon: anvil, remembered between starts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demo.nodes.base import CommandMaker, LocalChain, await_answer
from demo.nodes.factory import prepare_chain
from gateway.core.embedded.processes import ChildCommand
from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import lay_usdc
from localnet.funding import payer
from localnet.permit2 import PERMIT2, lay_permit2
from wallets.chains.evm.family import EVM_FAMILY

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


class KeptAnvil(Anvil):
    """A node whose process the stack runs; this object only talks to it."""

    def __init__(self, name: str, *, chain_id: int, port: int, folder: Path) -> None:
        state = folder / f"{name}.json"
        super().__init__(chain_id, port=port, state=state, extra=["--silent"])
        self.name = name
        self.accounts = ACCOUNTS

    def kept_by(self, make: CommandMaker) -> ChildCommand:
        """The program to keep running."""
        return replace(make(self.name, *self.command()), prepare=self.prepare_state)


@dataclass(frozen=True)
class EvmNode:
    """A chain of Ethereum's kin, with the tokens that the product accepts on it."""

    name: str
    symbols: tuple[str, ...]
    anvil: KeptAnvil

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The one program."""
        return [self.anvil.kept_by(make)]

    def mined_urls(self) -> list[str]:
        """It makes a block for each transaction; the miner makes the others."""
        return [self.anvil.url]

    def prepare(self) -> LocalChain:
        """Deploy factory and tokens, fund the payer, once. Raises `NodeStartError`."""
        return LocalChain(
            name=self.name,
            kind=EVM_FAMILY.name,
            rpc_url=self.anvil.url,
            node_url=self.anvil.url,
            ws_url=self.anvil.url.replace("http", "ws", 1),
            tokens=_accepted(prepared(self.anvil), self.symbols),
            funded_address=payer(self.anvil).address,
            funded_private_key=payer(self.anvil).key,
            chain_id=self.anvil.chain_id,
        )


def prepared(anvil: KeptAnvil) -> dict[str, str]:
    """Wait for a node, make it ready and return its tokens' addresses by symbol. Raises `NodeStartError`.

    USDC, Permit2 and the x402 proxy are where each chain has them: published x402 clients know these addresses and no others.
    """
    await_answer(anvil.name, anvil.block_number)
    tokens = prepare_chain(anvil)
    if not anvil.code(PERMIT2):
        lay_permit2(anvil)
    return tokens | {"USDC": lay_usdc(anvil)}


def _accepted(tokens: Mapping[str, str], symbols: tuple[str, ...]) -> dict[str, str]:
    return {symbol: tokens[symbol] for symbol in symbols}
