"""Asks for a second factor before a person decides about money that leaves."""

from typing import Final

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.freshness import needs_proof
from accounts.team.access import SeatedRequest
from accounts.team.operators import has_factor
from wallets.networks import chains

_NEEDS_FACTOR: Final = gettext_noop(
    "Approving needs a second factor: set up an authenticator app or a passkey, then come back. A stolen "
    "password then approves nothing."
)


def refuse_without_factor(request: SeatedRequest) -> HttpResponse | None:
    """Return a redirect to where the person sets up a second factor, if there is none; else None.

    A developer's own chains need none. Raises ReauthenticationRequired if its last use is old.
    """
    if all(spec.is_local for spec in chains().values()):
        return None
    if not has_factor(request.user):
        messages.warning(request, gettext(_NEEDS_FACTOR))
        return HttpResponseRedirect(reverse("account_security"))
    if needs_proof(request, now=timezone.now(), by_factor=True):
        raise ReauthenticationRequired
    return None
