"""The cast of the dashboard's tests: an owner, an admin, a viewer, and a stranger who owns another merchant."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.login.people import vouch_for
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from accounts.team.operators import has_factor
from tests.cases import undone
from tests.factories import make_merchant

PASSWORD = "a password"


@cache
def _hashed() -> str:
    # Slow on purpose; once is enough.
    return make_password(PASSWORD)


def make_member(merchant: Merchant, role: Role = Role.OWNER) -> User:
    """A person in the merchant's team whose address is verified; the password is `PASSWORD`."""
    user = User.objects.create(email=f"{secrets.token_hex(6)}@example.test", password=_hashed())
    vouch_for(user)
    Membership.objects.create(merchant=merchant, user=user, role=role)
    return user


def log_in(user: User, *, fresh: bool = True, **options: Any) -> Client:
    """A client in which the person is logged in, and has just proved it unless `fresh` says no."""
    client, session = Client(**options), SessionStore()
    # What `Client.force_login` keeps, written once: hundreds of tests begin so.
    session[SESSION_KEY] = str(user.pk)
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    request = RequestFactory().get("/")
    request.session, request.user = session, user
    record_authentication(request, user, method="password")
    if has_factor(user):
        record_authentication(request, user, method="mfa", type="totp")
    if not fresh:
        for proof in session["account_authentication_methods"]:
            proof["at"] = time.time() - 3600
    session.create()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    UserSession.objects.create(user=user, session_key=session.session_key, ip="127.0.0.1", user_agent="Firefox")
    return client


@dataclass
class Desk:
    """One person's browser at one merchant, in one mode."""

    client: Client
    merchant: Merchant
    user: User
    mode: Mode = Mode.LIVE

    def url(self, name: str, **kwargs: Any) -> str:
        """The address of a route of the merchant and mode."""
        here = {"mer_id": self.merchant.public_id, "mode": self.mode}
        return reverse(name, kwargs=here | kwargs)

    def get(self, name: str, query: str = "", /, **kwargs: Any) -> Any:
        """Open a page; `kwargs` are the route's."""
        return self.client.get(self.url(name, **kwargs) + query)

    def post(self, name: str, data: dict[str, Any] | None = None, /, **kwargs: Any) -> Any:
        """Send a form."""
        return self.client.post(self.url(name, **kwargs), data or {})

    @contextmanager
    def undone(self, *words: object) -> Iterator[None]:
        """`tests.cases.undone`, after which the person is logged in as before: a form may end the session."""
        kept = self.client.cookies[settings.SESSION_COOKIE_NAME].value
        with undone(*words):
            yield
        self.client.cookies[settings.SESSION_COOKIE_NAME] = kept


def make_desk(
    merchant: Merchant | None = None,
    role: Role = Role.OWNER,
    mode: Mode = Mode.LIVE,
    *,
    fresh: bool = True,
    factor: bool = False,
) -> Desk:
    """Somebody new of that role, logged in, at the merchant; with an authenticator app if `factor` says so."""
    merchant = merchant or make_merchant()
    user = make_member(merchant, role)
    if factor:
        Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={})
    return Desk(log_in(user, fresh=fresh), merchant, user, mode)
