"""TON: the real TVM in memory, another chain at each start."""

from dataclasses import dataclass

from demo.nodes.base import CommandMaker, LocalChain, await_answer
from gateway.core.embedded.processes import ChildCommand
from localnet.ton.node import TonNode as Node
from wallets.chains.ton.family import TON_FAMILY


@dataclass(frozen=True)
class TonNode:
    """The chain `ton`, whose blocks follow the clock."""

    node: Node
    name: str = "ton"

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The one program."""
        return [make(self.name, *self.node.command())]

    def mined_urls(self) -> list[str]:
        """None: its blocks follow the clock."""
        return []

    def prepare(self) -> LocalChain:
        """Deploy USDT and fund the payer. Raises `NodeStartError`."""
        await_answer(self.name, self.node.head)
        self.node.prepare()
        return LocalChain(
            name=self.name,
            kind=TON_FAMILY.name,
            rpc_url=self.node.url,
            node_url=self.node.url,
            tokens={"USDT": self.node.usdt},
            funded_address=self.node.payer.address,
            funded_private_key=self.node.payer.seed.hex(),
        )
