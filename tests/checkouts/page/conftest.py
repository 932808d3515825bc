"""Fixtures that several tests of this folder share."""

from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair

from demo.localnet.solana.node import SolanaNode
from demo.localnet.tron import TronNode
from demo.localnet.tron.addresses import to_base58
from tests.checkouts.page.buyers import ACCOUNT
from tests.checkouts.shop import Shop, count_anew


@pytest.fixture
def shop(solana_node: SolanaNode, settings: Any) -> Iterator[Shop]:
    """A shop paid on Solana, and a buyer with money there."""
    count_anew(settings)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    solana_node.airdrop(ACCOUNT)
    solana_node.fund(ACCOUNT, 100_000_000)
    opened = Shop("solana", str(Keypair().pubkey()))
    yield opened
    opened.watcher.close()


@pytest.fixture
def tron_shop(tron_node: TronNode, settings: Any) -> Iterator[Shop]:
    """A shop paid on Tron."""
    count_anew(settings)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url, "TRON_GRID_URLS": tron_node.grid_url}
    opened = Shop("tron", to_base58(tron_node.anvil.accounts[6].address))
    yield opened
    opened.watcher.close()
