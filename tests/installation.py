"""A Florin of real processes on Base and Polygon, where each checkout has an address of its own."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from tests.florin import Florin, OnChain
from tests.nodes.proxy import Fault, RpcProxy, honest
from wallets.chains.evm.decode import TRANSFER

CHAIN_IDS = {"base": 8453, "polygon": 137}
# Few on Polygon, so that a checkout completes there before a chain's reorganisations are over.
CONFIRMATIONS = {"base": 6, "polygon": 2}
WALLET = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"
DOLLAR = 1_000_000
_EVERY_TRANSFER = {
    "fromBlock": "0x0",
    "toBlock": "latest",
    "address": [token_address("USDC"), token_address("USDT")],
    "topics": [TRANSFER],
}


@dataclass(frozen=True)
class OpenCheckout:
    """A checkout to pay. The deposit address is the same on each of our chains."""

    public_id: str
    address: str


class Installation(Florin):
    """A node of each chain behind two proxies, and everything of `Florin`."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, Anvil] = {}
        self.proxies: dict[str, list[RpcProxy]] = {}

    @property
    def chains(self) -> Sequence[str]:
        """The names of its chains."""
        return list(CHAIN_IDS)

    @property
    def wallets(self) -> Mapping[str, str]:
        """The merchant's wallet, the same on both."""
        return dict.fromkeys(CHAIN_IDS, WALLET)

    def _open_chains(self) -> None:
        for chain, chain_id in CHAIN_IDS.items():
            node = self._exits.enter_context(Anvil(chain_id))
            prepare_chain(node)
            self.nodes[chain] = node
            self.proxies[chain] = [self._exits.enter_context(RpcProxy(node.url)) for _ in range(2)]

    def _chain_settings(self) -> dict[str, str]:
        chains = {"CHAIN_POLYGON_TOKEN_USDT": token_address("USDT")}
        for chain, proxies in self.proxies.items():
            prefix = f"CHAIN_{chain.upper()}"
            chains |= {
                f"{prefix}_RPC_URLS": ",".join(proxy.url for proxy in proxies),
                f"{prefix}_CONFIRMATIONS": str(CONFIRMATIONS[chain]),
                f"{prefix}_TOKEN_USDC": token_address("USDC"),
            }
        return chains

    def create_checkouts(self, count: int, amount: str = "10.00") -> list[OpenCheckout]:
        """Create live checkouts through the product's own service, once it offers every chain again."""
        return [
            OpenCheckout(one["id"], one["offers"]["base"]["address"]) for one in self._create_checkouts(count, amount)
        ]

    def pay(self, checkout: OpenCheckout, units: int = 10 * DOLLAR, *, chain: str = "base") -> str:
        """Pay on chain, in a block of its own; return the transaction hash."""
        node, usdc = self.nodes[chain], token_address("USDC")
        return transfer(node, payer(node), usdc, checkout.address, units)

    def pay_all(self, checkouts: Sequence[OpenCheckout], *, chain: str = "base") -> None:
        """Pay each of them in full."""
        for checkout in checkouts:
            self.pay(checkout, chain=chain)

    def pay_new(self, count: int = 1) -> None:
        """Pay so many new checkouts on each chain in full."""
        for chain in self.chains:
            self.pay_all(self.create_checkouts(count), chain=chain)

    def finalize(self) -> None:
        """Mine until all that is on the chains now is final."""
        for chain, node in self.nodes.items():
            node.mine(CONFIRMATIONS[chain])

    def payments(self) -> Iterator[OnChain]:
        """Every transfer of our tokens to a deposit address, from the first block to the last."""
        rows = self.database.rows("SELECT key FROM wallets_depositaddress")
        ours = {f"0x{bytes(key).hex()}" for (key,) in rows}
        for chain, node in self.nodes.items():
            for log in node.rpc("eth_getLogs", _EVERY_TRANSFER):
                recipient = "0x" + log["topics"][2][26:]
                if recipient in ours:
                    units = int(log["data"], 16)
                    tx_hash, token = log["transactionHash"], log["address"]
                    yield chain, tx_hash, token, recipient, units

    def misbehave(self, fault: Fault, *, chain: str = "base", urls: int = 1) -> None:
        """Let the first `urls` of a chain's two nodes misbehave."""
        for proxy in self.proxies[chain][:urls]:
            proxy.fault = fault

    def behave(self) -> None:
        """Let all nodes be honest again."""
        for proxies in self.proxies.values():
            for proxy in proxies:
                proxy.fault = honest
                # Lets go of the requests that hang, and can make others hang later.
                proxy.released.set()
                proxy.released = threading.Event()
