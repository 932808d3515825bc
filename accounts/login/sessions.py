"""How long a login lasts: a fixed time in all, and a shorter one without a request."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from allauth.account.authentication import get_authentication_records
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.freshness import forget_old_form
from gateway.core.web.client_address import address_or_none

_BEGAN: Final = "login_began"
_SEEN: Final = "login_seen"
# Writing it at every request would cost each of them a row; the list of sessions needs no better precision.
_SEEN_PRECISION_SECONDS: Final = 300
# An open page sends it with what it asks by itself: nobody need be in front of it.
_UNATTENDED: Final = "Florin-Unattended"


class SessionLimitsMiddleware:
    """Ends logins that are too old or were left alone, and notes now and then that one is in use."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, as nobody's where its login ended."""
        if request.user.is_authenticated:
            now = timezone.now()
            if _is_over(request, now):
                logout(request)
            else:
                forget_old_form(request, now=now)
                if _UNATTENDED not in request.headers:
                    _note(request, now)
        return self.get_response(request)


def _is_over(request: HttpRequest, now: datetime) -> bool:
    moment = int(now.timestamp())
    proofs = get_authentication_records(request, request.user)
    began = proofs[0]["at"] if proofs else request.session.setdefault(_BEGAN, moment)
    seen = request.session.setdefault(_SEEN, moment)
    return bool(
        moment - began >= settings.SESSION_COOKIE_AGE
        or moment - seen >= settings.SESSION_IDLE_SECONDS
    )


def _note(request: HttpRequest, now: datetime) -> None:
    moment = int(now.timestamp())
    if moment - request.session[_SEEN] < _SEEN_PRECISION_SECONDS:
        return
    request.session[_SEEN] = moment
    UserSession.objects.filter(session_key=request.session.session_key).update(
        last_seen_at=now, ip=session_address(request)
    )


def session_address(request: HttpRequest) -> str:
    """Return the address that is noted beside a login: `::`, the unspecified one, where the network tells none."""
    return address_or_none(request) or "::"
