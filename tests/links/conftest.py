"""What every test of links needs: counters of its own, and chains that can be offered."""

import secrets
from typing import Any

import pytest
from django.test import Client

from accounts.states import Mode
from tests.checkouts.factories import make_chains_well
from tests.contract.client import ApiClient, client_of
from tests.links.payer import Payer


@pytest.fixture(autouse=True)
def _fresh_counters(settings: Any) -> None:
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"


@pytest.fixture(autouse=True)
def _the_chains_are_well(settings: Any, db: None) -> None:
    make_chains_well(settings)


@pytest.fixture
def seller() -> ApiClient:
    """A merchant's test key."""
    return client_of(mode=Mode.TEST)


@pytest.fixture
def payer() -> Payer:
    """Somebody with a browser."""
    return Payer(Client())
