"""Fixtures of the operator's tests."""

import secrets
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client

from accounts.models import Merchant, User
from tests.factories import make_merchant
from tests.gateway.operator.people import log_in_by_factor, make_operator


@pytest.fixture(autouse=True)
def _own_counters_and_keys(settings: Any) -> None:
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.fixture
def operator(db: None) -> User:
    """Somebody of the staff, with a second factor."""
    return make_operator()


@pytest.fixture
def client(operator: User) -> Client:
    """The operator's browser, a moment after logging in by password and code."""
    return log_in_by_factor(operator)


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant("Halden Roasters")
