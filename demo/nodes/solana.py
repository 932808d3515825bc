"""Solana: the real programs in memory, another chain at each start."""

from dataclasses import dataclass, replace

from demo.nodes.base import CommandMaker, LocalChain, await_answer
from demo.nodes.solana_accounts import MACHINE_WALLET, NETWORK_PAYER
from gateway.core.embedded.processes import ChildCommand
from localnet.process import SOURCE
from localnet.solana.node import USDC
from localnet.solana.node import SolanaNode as Node
from wallets.chains.solana.family import SOLANA_FAMILY


@dataclass(frozen=True)
class SolanaNode:
    """The chain `solana`, whose slots follow the clock."""

    node: Node
    name: str = "solana"

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The one program."""
        return [replace(make(self.name, *self.node.command()), cwd=SOURCE)]

    def mined_urls(self) -> list[str]:
        """None: its slots follow the clock."""
        return []

    def prepare(self) -> LocalChain:
        """Make USDC, fund the payer, and let machines pay. Raises `NodeStartError`."""
        await_answer(self.name, self.node.slot)
        self.node.prepare()
        self.node.airdrop(NETWORK_PAYER)
        # So that it has an account for the token: a machine's transfer makes none.
        self.node.fund(MACHINE_WALLET, 0)
        return LocalChain(
            name=self.name,
            kind=SOLANA_FAMILY.name,
            rpc_url=self.node.url,
            node_url=self.node.url,
            ws_url=self.node.ws_url(),
            tokens={"USDC": USDC},
            funded_address=str(self.node.payer.pubkey()),
            funded_private_key=str(self.node.payer),
        )
