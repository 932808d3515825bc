"""A person's security pages: password, address, second factors and sessions, and the page behind an invitation's link."""

from typing import Any, Final

from allauth.account import views
from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from accounts.audit.actors import actor_of
from accounts.errors import InvitationError
from accounts.login.adapter import INVITATION_KEY, audit_login_change
from accounts.models import Invitation, User
from accounts.states import Mode, Role
from accounts.team.access import PersonRequest
from accounts.team.service import accept_invitation, find_invitation
from gateway.core.web.login_languages import login_languages

change_password = transaction.atomic(views.password_change)
set_password = transaction.atomic(views.password_set)
reset_password = transaction.atomic(views.password_reset_from_key)
# The library needs no reauthentication here, but a new address can reset the password.
change_email = reauthentication_required(app="allauth.account")(transaction.atomic(views.email))
# An address is changed once its code is entered.
confirm_email = transaction.atomic(views.email_verification_sent)

_ROLES: Final = {
    Role.OWNER: gettext_noop("owner"),
    Role.ADMIN: gettext_noop("admin"),
    Role.VIEWER: gettext_noop("viewer"),
}


class ActivateApp(totp.ActivateTOTPView):  # type: ignore[misc]
    """Sets up an authenticator app. The library's signal comes after the commit, too late for the entry."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the app up, audited."""
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            _audit(self, "mfa.totp_activated")
        return response


class GenerateCodes(GenerateRecoveryCodesView):  # type: ignore[misc]
    """Creates new recovery codes; the library's signal comes after the commit as well."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Make the codes, audited."""
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            _audit(self, "mfa.recovery_codes_generated")
        return response


activate_totp = ActivateApp.as_view()
generate_recovery_codes = GenerateCodes.as_view()
# For these the library's signal comes before the commit.
deactivate_totp = transaction.atomic(totp.deactivate_totp)
add_webauthn = transaction.atomic(webauthn.add_webauthn)
remove_webauthn = transaction.atomic(webauthn.remove_webauthn)


def _audit(view: Any, action: str) -> None:
    request = view.request
    audit_login_change(request, action, user=request.user, now=timezone.now())


@require_safe
@login_required
def security(request: PersonRequest) -> HttpResponse:
    """Show how the person logs in, with links to change it."""
    factors = list(Authenticator.objects.filter(user=request.user))
    context = {
        "has_totp": any(one.type == Authenticator.Type.TOTP for one in factors),
        "passkeys": [one.wrap() for one in factors if one.type == Authenticator.Type.WEBAUTHN],
        "recovery": next((one.wrap() for one in factors if one.type == Authenticator.Type.RECOVERY_CODES), None),
        "session_count": len(_sessions(request)),
    }
    return render(request, "account/security.html", context)


@require_http_methods(["POST"])
@login_required
def language(request: PersonRequest) -> HttpResponse:
    """Keep the language of the person's pages and mails; empty for the browser's."""
    asked = request.POST.get("language", "")
    if asked and asked not in dict(login_languages()):
        raise BadRequest("Our form offers the languages that there are.")
    request.user.language = asked
    request.user.save(update_fields=["language"])
    return redirect("account_security")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def sessions(request: PersonRequest) -> HttpResponse:
    """Show the person's sessions; a POST ends all others."""
    if request.method == "POST":
        for session in _sessions(request):
            if not session.is_current():
                session.end()
        audit_login_change(request, "account.sessions_ended", user=request.user, now=timezone.now())
        messages.success(request, gettext("All other sessions have ended."))
        return redirect("account_sessions")
    context = {"sessions": _sessions(request)}
    return render(request, "account/sessions.html", context)


@require_http_methods(["POST"])
@login_required
def end_session(request: PersonRequest, session_id: int) -> HttpResponse:
    """End one of the person's own sessions."""
    session = get_object_or_404(UserSession, pk=session_id, user=request.user)
    if session.is_current():
        return HttpResponseRedirect("/account/logout/")
    session.end()
    audit_login_change(request, "account.session_ended", user=request.user, now=timezone.now())
    messages.success(request, gettext("That login ended."))
    return redirect("account_sessions")


def _sessions(request: PersonRequest) -> list[UserSession]:
    found = UserSession.objects.purge_and_list(request.user)
    return sorted(found, key=lambda session: session.last_seen_at, reverse=True)


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show the invitation; a POST accepts it."""
    try:
        offer = find_invitation(token, now=timezone.now())
        if request.method == "POST" and isinstance(request.user, User):
            return _accept(request, offer, request.user)
    except InvitationError as error:
        words = {"message": gettext(error.message)}
        return render(request, "account/invitation_over.html", words, status=409)
    if not request.user.is_authenticated:
        # Opens sign-up for this address if it is closed, and returns here afterwards.
        request.session[INVITATION_KEY] = token
    context = {"offer": offer, "role": _ROLES.get(Role(offer.role), offer.role)}
    return render(request, "account/invitation.html", context)


def _accept(request: HttpRequest, offer: Invitation, user: User) -> HttpResponse:
    merchant = accept_invitation(offer, actor=actor_of(request), now=timezone.now())
    request.session.pop(INVITATION_KEY, None)
    messages.success(request, gettext("You joined the team of %(merchant)s.") % {"merchant": merchant.name})
    path = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=path))
