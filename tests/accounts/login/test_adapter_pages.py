"""Every page the login library brings: it opens, looks like ours, and says things in our words."""

import re
from pathlib import Path
from typing import Any

import allauth
import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.urls import URLPattern, get_resolver

from accounts.login.mails import (
    LETTERS,
    MESSAGES,
    letter,
)
from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant

LIBRARY = Path(allauth.__file__).parent
ARGUMENTS = {
    "pk": 1,
    "session_id": 1,
    "token": "x",
    "uidb36": "1",
    "key": "set-password",
}
# Ways of the library that are switched off.
OFF = re.compile(r"login_code|reset_code|phone|trust|signup_by|confirm_email$")


def account_paths() -> list[str]:
    """A path for each route under /account/."""
    [found] = [
        one for one in get_resolver().url_patterns if str(one.pattern) == "account/"
    ]
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


@pytest.fixture(autouse=True)
def _encryption_keys(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.mark.django_db
@pytest.mark.parametrize("path", account_paths())
def test_every_page_opens_and_looks_like_ours(path: str) -> None:
    for client in (Client(), log_in(make_member(make_merchant()))):
        answer = client.get(path)
        assert answer.status_code in {200, 302, 403, 404, 405, 409}
        if answer.status_code in {200, 409} and "html" in answer["Content-Type"]:
            assert "css/dashboard.css" in answer.text
            assert 'http-equiv="refresh"' not in answer.text


@pytest.mark.django_db
@pytest.mark.parametrize("path", account_paths())
def test_every_page_takes_a_form_that_makes_no_sense(path: str) -> None:
    for client in (Client(), log_in(make_member(make_merchant()))):
        answer = client.post(path, {"email": "x", "credential": "x", "code": "\x00"})
        assert answer.status_code < 500


def test_there_are_pages() -> None:
    assert {"/account/login/", "/account/second-factor/totp/activate/"} <= set(
        account_paths()
    )


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
