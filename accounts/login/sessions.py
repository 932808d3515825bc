"""Session limits: a fixed lifetime, and an idle timeout."""

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
# Writing it at every request would cost a row each; the list of sessions needs no better precision.
_SEEN_PRECISION_SECONDS: Final = 300
# The header of an open page's polling, which does not count as activity.
_UNATTENDED: Final = "Florin-Unattended"


class SessionLimitsMiddleware:
    """Ends sessions that are too old or idle, and records their use now and then."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, anonymously if its session ended."""
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
    return bool(moment - began >= settings.SESSION_COOKIE_AGE or moment - seen >= settings.SESSION_IDLE_SECONDS)


def _note(request: HttpRequest, now: datetime) -> None:
    moment = int(now.timestamp())
    if moment - request.session[_SEEN] < _SEEN_PRECISION_SECONDS:
        return
    request.session[_SEEN] = moment
    UserSession.objects.filter(session_key=request.session.session_key).update(
        last_seen_at=now, ip=session_address(request)
    )


def session_address(request: HttpRequest) -> str:
    """Return the address that is stored with a session: `::`, the unspecified one, if the network gives none."""
    return address_or_none(request) or "::"
