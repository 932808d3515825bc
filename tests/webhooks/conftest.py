"""What every webhook test needs: a key that secrets rest under, and loopback receivers."""

from typing import Any

import pytest
from cryptography.fernet import Fernet

from accounts.models import Merchant
from tests.webhooks.factories import HOOK, make_endpoint
from webhooks.models import Endpoint

_KEY = Fernet.generate_key().decode()


@pytest.fixture(autouse=True)
def _development(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [_KEY]
    settings.PRODUCTION = False
    settings.WEBHOOK_ALLOW_LOOPBACK = True


@pytest.fixture
def endpoint(merchant: Merchant) -> Endpoint:
    """The merchant's live endpoint."""
    return make_endpoint(merchant, HOOK)
