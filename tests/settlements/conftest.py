"""Gas keys and nodes for the tests of settlements."""

from collections.abc import Iterator
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from settlements.gas.broadcast import gas_node
from settlements.gas.node import GasNode
from tests.settlements.chain import CONFIRMATIONS, USDC


@pytest.fixture
def base_settings(settings: Any, base_node: Anvil) -> Any:
    """Base is read from the local node, and one of its rich accounts pays for gas."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "BASE_RPC_URLS": base_node.url,
        "BASE_TOKEN_USDC": USDC,
        "BASE_CONFIRMATIONS": str(CONFIRMATIONS),
    }
    settings.GAS_KEYS = [base_node.accounts[3].key]
    # A local node's gas is dear.
    settings.GAS_COIN_USD = {"base": "10"}
    return settings


@pytest.fixture
def node(base_settings: Any) -> Iterator[GasNode]:
    """Base's node, asked about transactions."""
    with gas_node("base") as opened:
        yield opened
