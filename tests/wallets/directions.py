"""Money that moves in both directions on a local EVM chain, and what is recorded of it."""

from localnet.anvil import Anvil, FundedAccount
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.forwarders import Deposit, flush
from tests.wallets.paying import transfer
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress, DepositOutflow, WatchedMovement

USDC = token_address("USDC")


def shop(node: Anvil) -> FundedAccount:
    """Whose wallet is watched."""
    return node.accounts[5]


def stranger(node: Anvil) -> FundedAccount:
    """Somebody nobody watches."""
    return node.accounts[7]


def pay(node: Anvil, to: str, units: int = 25) -> str:
    """A buyer pays; returns the transaction hash."""
    return transfer(node, payer(node), USDC, to, units)


def spend(node: Anvil, units: int, to: str | None = None) -> str:
    """The shop pays, a stranger unless told; returns the transaction hash."""
    return transfer(node, shop(node), USDC, to or stranger(node).address, units)


def flushed(node: Anvil, deposit: DepositAddress) -> str:
    """A stranger sends on what a deposit address holds; returns the transaction hash."""
    made_from = Deposit(checksum(bytes(deposit.destination)), bytes(deposit.nonce))
    tx_hash: str = flush(node, stranger(node), made_from, USDC)["transactionHash"]
    return tx_hash


def states(model: type[WatchedMovement | DepositOutflow]) -> list[str]:
    """How sure we are of each, the oldest row first."""
    return list(model.objects.order_by("pk").values_list("state", flat=True))
