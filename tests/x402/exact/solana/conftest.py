"""A merchant whose machines pay by signature on a local Solana."""

from typing import Any

import base58
import pytest
from django.utils import timezone
from solders.keypair import Keypair

from accounts.states import Mode
from demo.localnet.solana.node import SolanaNode
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant, make_user
from tests.x402.exact.solana.payers import Shop
from wallets.models import ChainCursor
from wallets.receiving.machine_wallets import set_machine_wallet
from wallets.selectors import forget


@pytest.fixture
def shop(solana_node: SolanaNode, settings: Any) -> Shop:
    """A merchant's Solana."""
    return connect_solana(settings, solana_node)


def connect_solana(settings: Any, solana_node: SolanaNode) -> Shop:
    """Let it be the only chain that can be asked, with an account of ours with SOL, a payer with USDC and none."""
    ours, payer, wallet = Keypair(), Keypair(), str(Keypair().pubkey())
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    settings.GAS_KEYS = []
    settings.GAS_KEYS_SOLANA = [base58.b58encode(bytes(ours)).decode()]
    ChainCursor.objects.all().delete()
    forget()
    solana_node.airdrop(str(ours.pubkey()))
    solana_node.fund(str(payer.pubkey()), 10**9)
    # So that its token account exists.
    solana_node.fund(wallet, 1)
    return Shop(solana_node, wallet, str(ours.pubkey()), payer)


@pytest.fixture
def seller(shop: Shop) -> ApiClient:
    """A live key of the merchant."""
    return open_seller(shop)


def open_seller(shop: Shop) -> ApiClient:
    """Make a merchant whose machines pay at a shop's wallet; return a live key."""
    merchant = make_merchant()
    set_machine_wallet(merchant, chain="solana", address=shop.wallet, actor=make_user(), now=timezone.now())
    forget()
    return client_of(merchant, Mode.LIVE)
