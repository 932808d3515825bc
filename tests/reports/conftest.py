"""What the tests of reports need: counters of their own, a merchant's key."""

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON


@pytest.fixture(autouse=True)
def _fresh_counters(settings: Any) -> None:
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"


@pytest.fixture
def shop() -> ApiClient:
    """A merchant's live key."""
    return client_of(mode=Mode.LIVE)


@pytest.fixture
def evening() -> Iterator[None]:
    """Six hours after noon, standing still, so that what is counted never straddles two minutes."""
    with time_machine.travel(NOON + timedelta(hours=6, seconds=30), tick=False):
        yield
