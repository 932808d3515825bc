"""Somebody whose account is new."""

import pytest
from solders.keypair import Keypair


@pytest.fixture
def owner() -> str:
    return str(Keypair().pubkey())
