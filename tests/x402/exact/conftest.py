"""A merchant whose machines pay by signature on a local Base."""

from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.x402.exact.shop import (
    connect_base,
    open_shop,
)


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC's address on the only chain that can be asked."""
    return connect_base(settings, base_node)


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    """A live key of a merchant with a wallet on Base."""
    return open_shop()


@pytest.fixture
def _no_bells(settings: Any) -> None:
    """Nobody else deals with the queue."""
    settings.TRANSFER_CONSUMERS = []
