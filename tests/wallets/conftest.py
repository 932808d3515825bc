"""Fixtures for the tests of wallets."""

import pytest

from wallets import selectors


@pytest.fixture(autouse=True)
def forget_remembered() -> None:
    """What one test remembered must not answer for the next."""
    selectors.forget()
