"""Telling operators what a gas account needs of them."""

from datetime import timedelta

import pytest

from accounts.models import User
from mails.models import OutgoingMail
from settlements.gas.alerts import tell_operators, tell_operators_daily
from tests.factories import NOON, make_user

pytestmark = pytest.mark.django_db


def make_operator() -> User:
    user = make_user()
    user.is_staff = True
    user.save()
    return user


def test_the_same_is_told_once_a_day() -> None:
    operator = make_operator()
    for hours in (0, 6, 24):
        now = NOON + timedelta(hours=hours)
        tell_operators_daily("gas:base", subject="Low", text="Send coin.", now=now)
    recipients = OutgoingMail.objects.values_list("recipient", flat=True)
    assert list(recipients) == [operator.email] * 2


def test_what_happens_each_time_is_told_each_time() -> None:
    make_operator()
    for seconds in (0, 1):
        now = NOON + timedelta(seconds=seconds)
        tell_operators("gas:base", subject="Sent", text="It was sent.", now=now)
    assert OutgoingMail.objects.count() == 2
