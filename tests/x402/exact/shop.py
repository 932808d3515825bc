"""A merchant whose machines pay by signature on a local Base, with USDC at its real address."""

from typing import Any

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import lay_usdc
from tests.contract.client import ApiClient, client_of
from tests.factories import make_live_chain, make_merchant, make_wallet
from wallets.models import ChainCursor
from wallets.selectors import forget


def connect_base(settings: Any, node: Anvil) -> str:
    """Let Base be the only chain that can be asked, a rich account of its node pay for gas; return USDC's address."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": node.url}
    settings.GAS_KEYS = [node.accounts[3].key]
    settings.GAS_DAILY_COINS = {"base": "100"}
    ChainCursor.objects.all().delete()
    make_live_chain("base", height=None, head=None)
    forget()
    return lay_usdc(node)


def open_shop() -> ApiClient:
    """A live key of a merchant with a wallet on Base."""
    merchant = make_merchant()
    make_wallet(merchant, "base")
    forget()
    return client_of(merchant, Mode.LIVE)
