"""The wallet for EVM chains and for the local Tron node."""

from urllib.parse import urlsplit

from demo.wallets.base import ChainEntry, Transfer, WalletError
from localnet.anvil import Anvil, FundedAccount
from localnet.errors import NodeError
from localnet.tokens import transfer
from wallets.chains.registry import family_called
from wallets.forwarders.addresses import checksum


def send(chain: ChainEntry, order: Transfer) -> str:
    """Send and return the transaction's hash, written as the chain writes it. Raises `WalletError`."""
    if order.comment:
        message = "Transfers on this chain carry no comment."
        raise WalletError(message)
    family = family_called(chain["kind"])
    payer, token, recipient = (
        checksum(family.address_key(text)) for text in (chain["funded_address"], order.token_address, order.to)
    )
    # Tron's JSON-RPC takes no transactions, so they go to the node behind it.
    node = Anvil(chain["chain_id"], port=urlsplit(chain["node_url"]).port)
    account = FundedAccount(payer, chain["funded_private_key"])
    try:
        tx_hash = transfer(node, account, token, recipient, order.units)
    except NodeError as error:
        message = f"The node did not take the transfer: {error}"
        raise WalletError(message) from error
    return family.transaction_hash(tx_hash) or tx_hash
