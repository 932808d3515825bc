"""Access to the operator's pages: staff who reauthenticated a moment ago, with a second factor in this login."""

from typing import Final, cast
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from accounts.freshness import needs_proof
from accounts.models import User
from accounts.team.operators import has_factor, is_operator, proved_by_factor

_NEEDS_FACTOR: Final = (
    "The operator's pages need a second factor: set up an authenticator app or a passkey, then come back."
)


def operator_of(request: HttpRequest) -> User:
    """Return the operator of a request that was let in."""
    return cast("User", request.user)


def refuse(request: HttpRequest) -> HttpResponseRedirect | None:
    """Return a redirect to what the person must do first; None if access is granted.

    Raises Http404 for people who are not staff, and ReauthenticationRequired, which leads to a login and back.
    """
    if not request.user.is_authenticated:
        return _first(settings.LOGIN_URL, request)
    if not is_operator(request):
        raise Http404
    if not has_factor(operator_of(request)):
        messages.warning(request, _NEEDS_FACTOR)
        return HttpResponseRedirect(reverse("account_security"))
    if not proved_by_factor(request):
        return _first(_factor_page(request), request)
    if needs_proof(request, now=timezone.now()):
        raise ReauthenticationRequired
    return None


def _factor_page(request: HttpRequest) -> str:
    """Return the page where a person proves an existing second factor; see `accounts.login.adapter`."""
    methods = get_adapter(request).get_reauthentication_methods(request.user)
    return str(methods[0]["url"])


def _first(page: str, request: HttpRequest) -> HttpResponseRedirect:
    # A redirect cannot repeat a POST.
    back = request.get_full_path() if request.method in {"GET", "HEAD"} else reverse("admin:index")
    return HttpResponseRedirect(f"{page}?{urlencode({'next': back})}")
