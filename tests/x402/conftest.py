"""Merchants whose machines pay on local nodes."""

import secrets
from typing import Any

import pytest

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.tokens import token_address
from gateway.core import valkey
from tests.contract.client import ApiClient, client_of
from tests.factories import make_live_chain, make_merchant, make_wallet
from wallets.models import ChainCursor
from wallets.selectors import forget
from x402.byhash import facts
from x402.heads import HEADS


@pytest.fixture(autouse=True)
def _own_counters(settings: Any) -> None:
    """No request counted yet, and nothing found to be unknown."""
    facts._lately_unknown.clear()
    HEADS.forget()
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"
    valkey._breaker.closed_again_at = 0.0


def connect(settings: Any, **urls: str) -> None:
    """Use these EVM nodes, and no others; the local chains' tokens are the test tokens."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        f"{chain.upper()}_TOKEN_{symbol}": token_address(symbol)
        for chain in ("base", "polygon", "ethereum")
        for symbol in ("USDC", "USDT")
    } | {f"{chain.upper()}_RPC_URLS": url for chain, url in urls.items()}
    ChainCursor.objects.all().delete()
    for chain in urls:
        make_live_chain(chain, height=None, head=None)
    forget()


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    """Base as the only chain that can be asked; nobody has read it yet."""
    connect(settings, base=base_node.url)
    return base_node


@pytest.fixture
def seller(base: Anvil) -> ApiClient:
    """A live key of a merchant with a wallet on Base."""
    merchant = make_merchant()
    make_wallet(merchant, "base")
    forget()
    return client_of(merchant, Mode.LIVE)
