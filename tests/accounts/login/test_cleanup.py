"""Logins and guesses that are over are forgotten."""

from datetime import timedelta

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.login.cleanup import forget_old_logins
from accounts.models import Guesses, User
from accounts.tasks import forget_old_logins_task
from tests.accounts.logins import try_login
from tests.dashboard.people import PASSWORD

pytestmark = pytest.mark.django_db


def logged_in(person: User, browser: str = "Firefox") -> Client:
    client = Client(headers={"user-agent": browser})
    try_login(person.email, PASSWORD, client)
    return client


def test_what_is_over_is_forgotten(member: User) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False) as clock:
        logged_in(member)
        try_login("nobody@example.test", "wrong")
        clock.shift(timedelta(days=15))
        logged_in(member)
        assert forget_old_logins(now=timezone.now()) == 1
        assert Session.objects.count() == UserSession.objects.count() == 1
        assert not Guesses.objects.exists()
        assert forget_old_logins_task() == 0
