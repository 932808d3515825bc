"""A merchant whose machines were paid."""

from typing import Any

import pytest

from accounts.models import Membership, Merchant
from accounts.states import Role
from tests.factories import make_merchant, make_user
from tests.x402.payments.following import follow
from tests.x402.recorded import make_machine_transfer, make_seller, verify_it
from wallets.models import Transfer


@pytest.fixture
def merchant(settings: Any) -> Merchant:
    """A merchant with an owner; nobody else deals with the queue."""
    settings.TRANSFER_CONSUMERS = []
    made = make_merchant()
    Membership.objects.create(merchant=made, user=make_user(), role=Role.OWNER)
    return made


@pytest.fixture
def transfer(merchant: Merchant, settings: Any) -> Transfer:
    """Recorded twelve blocks deep, and verified."""
    found = make_machine_transfer(merchant, make_seller(merchant, settings))
    assert verify_it(found)["valid"] is True
    follow()
    return found
