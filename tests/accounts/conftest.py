"""Fixtures of the tests of accounts."""

import secrets
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def own_counters(settings: Any) -> None:
    """Counters of its own: every test asks from the same address."""
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"
