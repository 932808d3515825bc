"""Fixtures that several tests of this folder share."""

import pytest

from accounts.states import Mode
from tests.dashboard.people import Desk, make_desk


@pytest.fixture
def desk() -> Desk:
    """An owner, in test mode."""
    return make_desk(mode=Mode.TEST)
