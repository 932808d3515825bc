"""Tron: anvil, remembered between starts, behind Tron's own interfaces."""

import sys
from dataclasses import dataclass, replace

from demo.nodes.base import HOST, CommandMaker, LocalChain, await_answer
from demo.nodes.evm import KeptAnvil
from gateway.core.embedded.processes import ChildCommand
from localnet.funding import payer
from localnet.process import SOURCE
from localnet.tron.addresses import to_base58
from localnet.tron.node import prepare_tron
from wallets.chains.tron.family import TRON_FAMILY


@dataclass(frozen=True)
class TronNode:
    """The chain `tron`. `port` is where its interfaces answer."""

    anvil: KeptAnvil
    port: int
    name: str = "tron"

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The node, and what speaks Tron's protocols for it."""
        module = (sys.executable, "-m", "localnet.tron")
        ports = ("--anvil-port", str(self.anvil.port), "--port", str(self.port))
        return [self.anvil.kept_by(make), replace(make("tron-api", *module, *ports), cwd=SOURCE)]

    def mined_urls(self) -> list[str]:
        """It makes a block for each transaction and none otherwise."""
        return [self.anvil.url]

    def prepare(self) -> LocalChain:
        """Put USDT there and fund the payer, once. Raises `NodeStartError`."""
        await_answer(self.name, self.anvil.block_number)
        tokens = prepare_tron(self.anvil)
        account = payer(self.anvil)
        api_url = f"http://{HOST}:{self.port}"
        return LocalChain(
            name=self.name,
            kind=TRON_FAMILY.name,
            rpc_url=f"{api_url}/jsonrpc",
            # Tron's JSON-RPC takes no transactions.
            node_url=self.anvil.url,
            tokens=tokens,
            funded_address=to_base58(account.address),
            funded_private_key=account.key,
            chain_id=self.anvil.chain_id,
            grid_url=api_url,
        )
