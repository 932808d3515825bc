"""Fixtures of the dashboard's tests."""

import pytest

from accounts.models import Merchant
from accounts.states import Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_merchant


@pytest.fixture
def merchant() -> Merchant:
    """The merchant that the test is about."""
    return make_merchant()


@pytest.fixture
def owner(merchant: Merchant) -> Desk:
    """An owner, logged in a moment ago."""
    return make_desk(merchant, Role.OWNER)


@pytest.fixture
def admin(merchant: Merchant) -> Desk:
    """An admin."""
    return make_desk(merchant, Role.ADMIN)


@pytest.fixture
def viewer(merchant: Merchant) -> Desk:
    """A viewer."""
    return make_desk(merchant, Role.VIEWER)


@pytest.fixture
def stranger(merchant: Merchant) -> Desk:
    """The owner of another merchant, at this one's door."""
    desk = make_desk(role=Role.OWNER)
    desk.merchant = merchant
    return desk
