"""The page behind an invitation's link. The link itself changes nothing: a button accepts."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.errors import InvitationError
from accounts.login.adapter import INVITATION_KEY
from accounts.models import Invitation, User
from accounts.states import Mode, Role
from accounts.team.invitations import accept_invitation, find_invitation
from gateway.core.web.client_address import address_or_none


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show the invitation; a POST accepts it."""
    try:
        offer = find_invitation(token, now=timezone.now())
        if request.method == "POST" and isinstance(request.user, User):
            return _accept(request, offer, request.user)
    except InvitationError as error:
        words = {"message": error.message}
        return render(request, "account/invitation_over.html", words, status=409)
    if not request.user.is_authenticated:
        # Opens sign-up for this address if it is closed, and returns here afterwards.
        request.session[INVITATION_KEY] = token
    context = {"offer": offer, "role": Role(offer.role).label.lower()}
    return render(request, "account/invitation.html", context)


def _accept(request: HttpRequest, offer: Invitation, user: User) -> HttpResponse:
    merchant = accept_invitation(offer, user=user, now=timezone.now(), address=address_or_none(request))
    request.session.pop(INVITATION_KEY, None)
    messages.success(request, f"You joined the team of {merchant.name}.")
    path = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=path))
