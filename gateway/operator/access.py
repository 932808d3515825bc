"""Who may open the operator's pages: staff who proved a moment ago who they are, and by a second factor in this login."""

from typing import Final, cast
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from accounts.freshness import needs_proof
from accounts.models import User

_FACTORS: Final = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
_NEEDS_FACTOR: Final = "The operator's pages need a second factor: set up an authenticator app or a passkey, then come back."


def is_operator(request: HttpRequest) -> bool:
    """Say whether the person may open the operator's pages at all, however long ago they proved who they are."""
    return request.user.is_active and request.user.is_staff


def operator_of(request: HttpRequest) -> User:
    """Return who asks, of a request that came in."""
    return cast("User", request.user)


def refuse(request: HttpRequest) -> HttpResponseRedirect | None:
    """Return where somebody must go first; None for whoever may go on.

    Raises Http404 for people who are no staff, and ReauthenticationRequired, which leads to a proof and back.
    """
    if not request.user.is_authenticated:
        return _first(settings.LOGIN_URL, request)
    if not is_operator(request):
        raise Http404
    if not is_mfa_enabled(request.user, types=_FACTORS):
        messages.warning(request, _NEEDS_FACTOR)
        return HttpResponseRedirect(reverse("account_security"))
    if not _proved_by_factor(request):
        return _first(_factor_page(request), request)
    if needs_proof(request, now=timezone.now()):
        raise ReauthenticationRequired
    return None


def _proved_by_factor(request: HttpRequest) -> bool:
    """Whether this login had a second factor; one that began before it was set up had not."""
    proofs = get_authentication_records(request, request.user)
    return any(proof["method"] == "mfa" for proof in proofs)


def _factor_page(request: HttpRequest) -> str:
    """Return where somebody who has a second factor proves it; see `accounts.adapter`."""
    methods = get_adapter(request).get_reauthentication_methods(request.user)
    return str(methods[0]["url"])


def _first(page: str, request: HttpRequest) -> HttpResponseRedirect:
    # A form that was sent meanwhile cannot be sent again from an address.
    back = (
        request.get_full_path()
        if request.method in {"GET", "HEAD"}
        else reverse("admin:index")
    )
    return HttpResponseRedirect(f"{page}?{urlencode({'next': back})}")
