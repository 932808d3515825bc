"""Operators: staff with a second factor, and those who lack one thing or another."""

import time
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client, RequestFactory

from accounts.models import User
from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant


def make_operator(*, has_factor: bool = True, key: str = "") -> User:
    """Somebody of the staff, with an authenticator app unless told otherwise; `key` is what it holds."""
    user = make_member(make_merchant())
    user.is_staff = True
    user.save()
    if has_factor:
        TOTP.activate(user, key or generate_totp_secret())
    return user


def log_in_by_factor(user: User, *, seconds_ago: float = 0, **options: Any) -> Client:
    """A client that logged in by password and code, so long ago."""
    client = log_in(user, **options)
    session = client.session
    request = RequestFactory().get("/")
    request.session, request.user = session, user
    record_authentication(request, user, method="mfa", type="totp")
    for proof in session["account_authentication_methods"]:
        proof["at"] = time.time() - seconds_ago
    session.save()
    return client


PEOPLE = "/operator/accounts/user/"


def act(client: Client, address: str, action: str, *rows: Any) -> Any:
    form = {"action": action, "_selected_action": [row.pk for row in rows]}
    return client.post(address, form, follow=True)
