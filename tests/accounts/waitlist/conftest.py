"""What the tests of the waitlist need."""

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
    """A merchant's live key. No wallet is needed to wait for cards."""
    return client_of(mode=Mode.LIVE)


@pytest.fixture
def still_clock() -> Iterator[None]:
    """The middle of a rate window, standing still: what is counted never straddles two."""
    with time_machine.travel(NOON + timedelta(seconds=30), tick=False):
        yield
