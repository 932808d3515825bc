"""The wallet for Solana: one transfer, with the reference of a payment link (Solana Pay) and a memo."""

from urllib.parse import urlsplit

from solders.keypair import Keypair

from demo.wallets.base import ChainEntry, Transfer, WalletError
from localnet.errors import NodeError
from localnet.solana.node import Payment, SolanaNode


def send(chain: ChainEntry, order: Transfer) -> str:
    """Send and return the transaction's signature. Raises `WalletError`."""
    node = SolanaNode(port=urlsplit(chain["node_url"]).port)
    references = [order.reference] if order.reference else []
    payment = Payment(order.to, order.units, order.token_address, references)
    payer = Keypair.from_base58_string(chain["funded_private_key"])
    try:
        return node.pay_all([payment], payer=payer, memo=order.comment or None)
    except NodeError as error:
        message = f"The node did not take the transfer: {error}"
        raise WalletError(message) from error
