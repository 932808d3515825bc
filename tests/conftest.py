"""Fixtures for all tests."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from accounts.authentication import key_cache
from wallets import selectors

pytest_plugins = ["tests.nodes.fixtures"]


@pytest.fixture(autouse=True)
def forget_what_was_remembered() -> Iterator[None]:
    """Processes remember keys, wallets and chains for seconds; the next test has other ones."""
    key_cache.clear()
    selectors.forget()
    yield
    key_cache.clear()
    selectors.forget()


def pytest_configure() -> None:
    """Make the folder of collected static files, whose absence WhiteNoise warns of."""
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
