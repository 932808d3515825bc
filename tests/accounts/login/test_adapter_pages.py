"""Every page the login library brings: it opens, looks like ours, and says things in our words."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver

from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant

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
            assert "css/dashboard.css" in answer.text
            assert 'http-equiv="refresh"' not in answer.text


@pytest.mark.django_db
@pytest.mark.parametrize("path", account_paths())
def test_every_page_takes_a_form_that_makes_no_sense(path: str) -> None:
    for client in (Client(), log_in(make_member(make_merchant()))):
        answer = client.post(path, {"email": "x", "credential": "x", "code": "\x00"})
        assert answer.status_code < 500


def test_there_are_pages() -> None:
    assert {"/account/login/", "/account/second-factor/totp/activate/"} <= set(account_paths())
