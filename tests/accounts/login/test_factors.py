"""A code of an app counts once."""

from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator

from accounts.login.factors import use_up
from accounts.models import User
from tests.accounts.logins import totp_code
from tests.factories import NOON

pytestmark = pytest.mark.django_db


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
