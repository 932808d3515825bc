"""A code of an app counts once."""

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet

from accounts.login.factors import use_up
from accounts.login.people import vouch_for
from accounts.models import User
from tests.accounts.logins import (
    totp_code,
)
from tests.dashboard.people import log_in
from tests.factories import NOON, make_user

pytestmark = pytest.mark.django_db


ACTIVATE = "/account/second-factor/totp/activate/"


@pytest.fixture(autouse=True)
def _encryption_keys(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.fixture
def person() -> User:
    """Somebody with a password alone."""
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


PERIOD = timedelta(seconds=30)


@pytest.mark.parametrize(
    ("first", "then", "after", "counts"),
    [
        (0, 0, 0, False),
        (0, 0, 29, False),
        (0, 0, 30, False),
        (0, 1, 30, True),
        (-1, -1, 0, False),
        (-1, -1, 29, False),
        (0, -1, 0, False),
        (0, -1, 29, False),
        (-1, 1, 30, True),
    ],
)
def test_a_code_counts_once_and_none_before_it_afterwards(
    first: int, then: int, after: int, counts: bool, person: User, key: str
) -> None:
    app = Authenticator.objects.get(type="totp")
    assert use_up(app, totp_code(key, NOON + first * PERIOD), now=NOON)
    code = totp_code(key, NOON + then * PERIOD)
    assert use_up(app, code, now=NOON + timedelta(seconds=after)) is counts
