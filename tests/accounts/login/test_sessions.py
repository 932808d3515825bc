"""How long a login lasts, and ending it elsewhere."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from tests.accounts.logins import is_logged_in, try_login
from tests.dashboard.people import PASSWORD, make_member
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db

SESSIONS = "/account/sessions/"


def logged_in(person: User, browser: str = "Firefox") -> Client:
    client = Client(headers={"user-agent": browser})
    try_login(person.email, PASSWORD, client)
    return client


def test_a_login_ends_after_a_day_without_use(member: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client = logged_in(member)
        clock.shift(timedelta(hours=23, minutes=59))
        assert is_logged_in(client)
        clock.shift(timedelta(hours=24))
        assert not is_logged_in(client)


def test_what_an_open_page_asks_by_itself_keeps_no_login(member: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client = logged_in(member)
        assert is_logged_in(client)
        for _ in range(4):
            clock.shift(timedelta(hours=7))
            client.get("/", headers={"Florin-Unattended": "1"})
        assert not is_logged_in(client)


def test_a_login_ends_after_fourteen_days_however_much_it_is_used(member: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client = logged_in(member)
        for _ in range(27):
            clock.shift(timedelta(hours=12))
            assert is_logged_in(client)
        clock.shift(timedelta(hours=13))
        assert not is_logged_in(client)


def test_reading_pages_writes_now_and_then_only(member: User, django_assert_max_num_queries: Any) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client = logged_in(member)
        client.get(SESSIONS)
        with django_assert_max_num_queries(20) as asked:
            client.get(SESSIONS)
        writes = [q for q in asked.captured_queries if q["sql"].startswith("UPDATE")]
        assert writes == []
        clock.shift(timedelta(minutes=6))
        client.get(SESSIONS)
        assert UserSession.objects.get().last_seen_at == timezone.now()


def test_every_login_is_listed_and_can_be_ended_elsewhere(member: User) -> None:
    here, there = logged_in(member, "Here/1"), logged_in(member, "There/1")
    page = here.get(SESSIONS).text
    assert "Here/1" in page
    assert "There/1" in page
    other = UserSession.objects.get(user_agent="There/1")
    here.post(f"{SESSIONS}{other.pk}/end/")
    assert is_logged_in(here)
    assert not is_logged_in(there)
    assert AuditEntry.objects.get().action == "account.session_ended"


def test_all_others_can_be_ended_at_once(member: User) -> None:
    here, there = logged_in(member), logged_in(member)
    here.post(SESSIONS)
    assert is_logged_in(here)
    assert not is_logged_in(there)


def test_nobody_ends_a_strangers_login(member: User) -> None:
    mine, stranger = logged_in(member), logged_in(make_member(make_merchant()))
    session = UserSession.objects.get(user=member)
    assert stranger.post(f"{SESSIONS}{session.pk}/end/").status_code == 404
    assert is_logged_in(mine)


def test_logging_out_ends_the_session_on_the_server(member: User) -> None:
    client = logged_in(member)
    kept = client.cookies[configured.SESSION_COOKIE_NAME].value
    client.post("/account/logout/")
    client.cookies[configured.SESSION_COOKIE_NAME] = kept
    assert not is_logged_in(client)


def test_logging_out_takes_a_form_not_a_link(member: User) -> None:
    client = logged_in(member)
    assert "Log out?" in client.get("/account/logout/").text
    assert is_logged_in(client)
