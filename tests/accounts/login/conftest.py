"""Somebody with a password, and with the app that shows their codes."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet

from accounts.login.people import vouch_for
from accounts.models import User
from tests.accounts.logins import ACTIVATE, totp_code
from tests.dashboard.people import log_in
from tests.factories import make_user


@pytest.fixture(autouse=True)
def _encryption_keys(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.fixture
def person() -> User:
    """Somebody with a password, an address that is theirs, and no team."""
    user = make_user("ada@example.test")
    vouch_for(user)
    return user


@pytest.fixture
def key(person: User, django_capture_on_commit_callbacks: Any) -> str:
    """The key of the person's authenticator app, set up as a browser does it."""
    client = log_in(person)
    secret = str(client.get(ACTIVATE).context["form"].secret)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(ACTIVATE, {"code": totp_code(secret)})
    # A code works once.
    Authenticator.objects.filter(type="totp").update(last_used_at=None)
    return secret
