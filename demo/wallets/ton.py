"""The wallet for TON: a v4r2 contract that sends jettons, with a comment if one is given."""

from urllib.parse import urlsplit

from demo.wallets.base import ChainEntry, Transfer, WalletError
from localnet.errors import NodeError
from localnet.ton.messages import TonWallet
from localnet.ton.node import TonNode


def send(chain: ChainEntry, order: Transfer) -> str:
    """Send and return the hash of the transaction by which it arrived. Raises `WalletError`."""
    node = TonNode(port=urlsplit(chain["node_url"]).port)
    payer = TonWallet(bytes.fromhex(chain["funded_private_key"]))
    try:
        tx_hash = node.pay(order.to, order.units, order.comment or None, payer=payer, jetton=order.token_address)
    except NodeError as error:
        message = f"The node did not take the transfer: {error}"
        raise WalletError(message) from error
    if not tx_hash:
        message = "The node did not take the transfer: it failed on the chain."
        raise WalletError(message)
    return tx_hash
