"""Fixtures that several tests of this folder share."""

import pytest

from checkouts.models import InboxItem
from tests.checkouts.inboxes import extra_item
from tests.dashboard.people import Desk


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """An open item of the owner's merchant: 25 USDC for a checkout that was paid already."""
    return extra_item(merchant=owner.merchant)
