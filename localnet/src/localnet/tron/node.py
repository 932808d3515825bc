"""A Tron node for tests and the demo, with a funded payer."""

from types import TracebackType
from typing import Self

from localnet import tokens
from localnet.anvil import Anvil, FundedAccount
from localnet.funding import PAYER_UNITS, payer
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.grid import Grid
from localnet.tron.jsonrpc import JsonRpc
from localnet.tron.rules import Rules
from localnet.tron.server import Server

TRON_CHAIN_ID = 728126428
USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
"""Tether's own contract; the local one stands at the same address."""


def prepare_tron(anvil: Anvil) -> dict[str, str]:
    """Put USDT where it is on Tron and fund the payer, once; return the token addresses by symbol, in base58.

    Unlike Ethereum's, Tron's USDT has a transferFrom that answers true.
    """
    address = to_hex(USDT)
    if not anvil.code(address):
        copied = tokens.deploy_token(anvil, "USDC")
        anvil.rpc("anvil_setCode", address, f"0x{anvil.code(copied).hex()}")
    if not tokens.balance_of(anvil, address, payer(anvil).address):
        tokens.mint(anvil, address, payer(anvil).address, PAYER_UNITS)
    return {"USDT": USDT}


class TronNode:
    """Tron's interfaces before an anvil that runs. Use it as a context manager.

    `rules` may be changed at any time. `anvil` makes blocks, forks and transactions.
    """

    def __init__(self, anvil: Anvil, *, port: int = 0, rules: Rules | None = None) -> None:
        self.anvil = anvil
        self.rules = rules or Rules()
        rpc = JsonRpc(anvil, self.rules)
        self._server = Server(rpc, Grid(anvil, rpc, self.rules), self.rules, port=port)

    @property
    def url(self) -> str:
        """Where it answers JSON-RPC."""
        return f"{self.grid_url}/jsonrpc"

    @property
    def grid_url(self) -> str:
        """Where TronGrid's paths begin."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def requests(self) -> int:
        """How many HTTP requests came."""
        return self._server.requests

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.stop()

    def serve(self) -> None:
        """Answer until the process ends."""
        self._server.serve()

    def pay(self, to: str, units: int, *, account: FundedAccount | None = None) -> str:
        """Send USDT to a base58 address; return the transaction id once it is in a block."""
        sender = account or payer(self.anvil)
        tx_hash = tokens.transfer(self.anvil, sender, to_hex(USDT), to_hex(to), units)
        self.anvil.receipt(tx_hash)
        return tx_hash[2:]

    def mine(self, blocks: int = 1) -> None:
        """Add empty blocks."""
        self.anvil.mine(blocks)

    @property
    def payer_address(self) -> str:
        """The payer's address, in base58."""
        return to_base58(payer(self.anvil).address)
