"""Fixtures of the tests of wallets' pages."""

import pytest

from accounts.models import Merchant
from tests.dashboard.people import Desk, make_desk


@pytest.fixture
def owner(merchant: Merchant) -> Desk:
    """An owner who logged in a moment ago by a second factor: changes of wallets ask for it."""
    return make_desk(merchant, factor=True)
