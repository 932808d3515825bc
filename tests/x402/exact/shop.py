"""A merchant whose machines pay by signature on a local EVM chain, with USDC at its real address."""

from typing import Any

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import lay_usdc
from tests.contract.client import ApiClient, client_of
from tests.factories import make_live_chain, make_merchant, make_wallet
from wallets.chains.evm.authorizations import contracts
from wallets.models import ChainCursor
from wallets.selectors import forget
from x402.exact.evm import permit2


def connect_base(settings: Any, node: Anvil) -> str:
    """Connect to Base; return USDC's address."""
    return connect_evm(settings, node, "base")


def connect_evm(settings: Any, node: Anvil, chain: str) -> str:
    """Let one chain be the only one that can be asked, a rich account of its node pay for gas; return USDC's address."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": node.url}
    settings.GAS_KEYS = [node.accounts[3].key]
    settings.GAS_DAILY_COINS = {chain: "100"}
    ChainCursor.objects.all().delete()
    # No contract goes away, but a node is undone after each test: another test may have laid there what this one has not.
    contracts._deployed.clear()
    # Or it would be taken as missing for a minute because another test's node was without.
    permit2._missing.clear()
    make_live_chain(chain, height=None, head=None)
    forget()
    return lay_usdc(node)


def open_shop(chain: str = "base") -> ApiClient:
    """A live key of a merchant with a wallet on a chain."""
    merchant = make_merchant()
    make_wallet(merchant, chain)
    forget()
    return client_of(merchant, Mode.LIVE)
