"""Chains with nodes that nobody asks, and a key that pays for gas."""

from typing import Any

import pytest

from tests.dashboard.machines import GAS_KEY
from tests.factories import LOCAL_NODES


@pytest.fixture(autouse=True)
def _local_chains(settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES


@pytest.fixture
def _gas_key(settings: Any) -> None:
    settings.GAS_KEYS = [GAS_KEY]
