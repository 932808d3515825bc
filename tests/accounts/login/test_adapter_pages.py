"""Every page the login library brings: it opens, looks like ours, and says things in our words."""

import re
from pathlib import Path
from typing import Any

import allauth
import pytest
import time_machine
from django.conf import settings as configured
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone

from accounts.login.adapter import LETTERS, MESSAGES, letter
from accounts.models import Membership, User
from accounts.states import Role
from mails.models import OutgoingMail
from tests.accounts.logins import LOGIN, try_login
from tests.dashboard.people import PASSWORD, log_in, make_member
from tests.factories import make_merchant, make_user

pytestmark = pytest.mark.django_db


ARGUMENTS = {"pk": 1, "session_id": 1, "token": "x", "uidb36": "1", "key": "set-password"}


def account_paths() -> list[str]:
    """A path for each route under /account/."""
    [found] = [one for one in get_resolver().url_patterns if str(one.pattern) == "account/"]
    return sorted({f"/account/{path}" for path in _paths(found)})


def _paths(resolver: Any) -> list[str]:
    found = []
    for item in resolver.url_patterns:
        if isinstance(item, URLPattern):
            found.append(_filled(str(item.pattern)))
        else:
            found += [_filled(str(item.pattern)) + rest for rest in _paths(item)]
    return found


def _filled(pattern: str) -> str:
    plain = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", pattern).strip("^$")
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda name: str(ARGUMENTS[name[1]]), plain)


@pytest.mark.django_db
@pytest.mark.parametrize("path", account_paths())
def test_every_page_opens_and_looks_like_ours(path: str) -> None:
    for client in (Client(), log_in(make_member(make_merchant()))):
        answer = client.get(path)
        assert answer.status_code in {200, 302, 403, 404, 405, 409}
        if answer.status_code in {200, 409} and "html" in answer["Content-Type"]:
            assert "css/dashboard/base.css" in answer.text
            assert 'http-equiv="refresh"' not in answer.text


@pytest.mark.django_db
@pytest.mark.parametrize("path", account_paths())
def test_every_page_takes_a_form_that_makes_no_sense(path: str) -> None:
    for client in (Client(), log_in(make_member(make_merchant()))):
        answer = client.post(path, {"email": "x", "credential": "x", "code": "\x00"})
        assert answer.status_code < 500


def test_there_are_pages() -> None:
    assert {"/account/login/", "/account/second-factor/totp/activate/"} <= set(account_paths())


# What the web can be made to do to people who log in: forged forms, false hosts, open redirects, frames, cookies.


SIGNUP = "/account/signup/"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "\thttps://evil.example/",
        "http://testserver@evil.example/",
    ],
)
def test_after_the_login_nobody_is_led_away(target: str, person: User) -> None:
    for where in (LOGIN, f"{LOGIN}?next={target}"):
        client = Client()
        answer = client.post(where, {"login": person.email, "password": PASSWORD, "next": target})
        assert answer["Location"] == "/dashboard/"
    for path, field, safe in (
        ("/account/logout/", "x", LOGIN),
        ("/account/reauthenticate/", "password", "/dashboard/"),
    ):
        answer = log_in(person).post(path, {"next": target, field: PASSWORD})
        assert answer["Location"] == safe


def test_after_the_login_one_is_where_one_wanted_to_be(person: User) -> None:
    answer = try_login(person.email, PASSWORD, next="/account/sessions/")
    assert answer["Location"] == "/account/sessions/"


@pytest.mark.parametrize("path", [LOGIN, "/account/password/reset/", "/dashboard/"])
def test_a_host_that_is_not_ours_is_refused(path: str, person: User) -> None:
    assert Client().get(path, headers={"host": "evil.example"}).status_code == 400
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize("path", [LOGIN, SIGNUP, "/account/password/reset/"])
def test_a_form_from_elsewhere_is_refused(path: str, person: User) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(path, {"login": person.email, "password": PASSWORD})
    assert answer.status_code == 403
    assert "We did not accept this form" in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://testserver"}, 302),
        ({"referer": "https://testserver/account/login/"}, 302),
        # What a browser says under `no-referrer`, and what a stranger's page says.
        ({"origin": "null"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"referer": "https://evil.example/"}, 403),
        ({}, 403),
    ],
)
def test_over_https_a_form_says_where_it_comes_from(headers: dict[str, str], status: int, person: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(LOGIN, secure=True)
    form = {
        "login": person.email,
        "password": PASSWORD,
        "csrfmiddlewaretoken": client.cookies[configured.CSRF_COOKIE_NAME].value,
    }
    answer = client.post(LOGIN, form, secure=True, headers=headers)
    assert answer.status_code == status


def test_a_form_from_elsewhere_changes_no_team() -> None:
    user, merchant = make_user(), make_merchant()
    Membership.objects.create(merchant=merchant, user=user, role=Role.OWNER)
    client = log_in(user, enforce_csrf_checks=True)
    path = f"/dashboard/{merchant.public_id}/live/team/invite/"
    assert client.post(path, {"email": "x@example.test", "role": "owner"}).status_code == 403


def test_an_address_that_sends_too_much_is_asked_for_patience() -> None:
    with time_machine.travel(timezone.now().replace(second=0), tick=False):
        answers = [Client().post("/account/logout/").status_code for _ in range(31)]
    assert answers[29:] == [302, 429]


@pytest.mark.parametrize("path", [LOGIN, SIGNUP, "/account/sessions/", "/dashboard/"])
def test_pages_of_people_are_framed_by_nobody_and_kept_by_nobody(path: str, person: User) -> None:
    answer = (log_in(person) if "s/" in path[-3:] else Client()).get(path)
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "form-action 'self'" in answer["Content-Security-Policy"]
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/c/unknown", "/api/v1/chains", "/healthz"])
def test_buyers_and_machines_get_no_cookie_and_cost_no_session(path: str, django_assert_max_num_queries: Any) -> None:
    client = Client()
    client.cookies[configured.SESSION_COOKIE_NAME] = "x" * 32
    with django_assert_max_num_queries(4) as asked:
        answer = client.get(path)
    assert not answer.cookies
    assert "Cookie" not in answer.get("Vary", "")
    assert not [q for q in asked.captured_queries if "django_session" in q["sql"]]
    assert "X-Frame-Options" not in answer


def test_cookies_are_for_us_alone(person: User) -> None:
    client = Client()
    client.get(LOGIN)
    try_login(person.email, PASSWORD, client)
    for name in (configured.SESSION_COOKIE_NAME, configured.CSRF_COOKIE_NAME):
        cookie = client.cookies[name]
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")


# The login library's mails and messages, in our words.


LIBRARY = Path(allauth.__file__).parent


# Ways of the library that are switched off.
OFF = re.compile(r"login_code|reset_code|phone|trust|signup_by|confirm_email$")


def sent(function: str) -> set[str]:
    """The names that the library's code gives to a function of the adapter."""
    called = re.compile(rf'"((?:account|mfa|usersessions)/{function}/\w+(?:\.txt)?)"')
    sources = [*LIBRARY.glob("account/**/*.py"), *LIBRARY.glob("mfa/**/*.py")]
    names = {name for path in sources for name in called.findall(path.read_text())}
    return {name for name in names if not OFF.search(name.removesuffix(".txt"))}


def test_every_mail_of_the_library_has_our_words() -> None:
    assert len(sent("email")) > 10
    assert sent("email") - set(LETTERS) == set()


def test_every_message_of_the_library_has_our_words() -> None:
    found = {name for name in sent("messages") if "login_code" not in name}
    assert found - set(MESSAGES) == set()


@pytest.mark.parametrize("name", LETTERS)
def test_a_mail_says_something_and_leaves_nothing_unfilled(name: str) -> None:
    words = {
        "base_url": "https://pay.example",
        "ip": "192.0.2.7",
        "code": "ABCD-EFGH",
        "password_reset_url": "https://pay.example/r",
        "from_email": "a@example.test",
        "to_email": "b@example.test",
        "deleted_email": "a@example.test",
    }
    subject, text = letter(name, words)
    assert 0 < len(subject) < 80
    assert "{" not in subject + text
