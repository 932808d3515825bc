"""A person's security pages: password, factors and sessions."""

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.login.adapter import audit_login_change
from accounts.team.seats import PersonRequest


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


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def sessions(request: PersonRequest) -> HttpResponse:
    """Show the person's sessions; a POST ends all others."""
    if request.method == "POST":
        for session in _sessions(request):
            if not session.is_current():
                session.end()
        audit_login_change(request, "account.sessions_ended", user=request.user, now=timezone.now())
        messages.success(request, "All other sessions have ended.")
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
    messages.success(request, "That login ended.")
    return redirect("account_sessions")


def _sessions(request: PersonRequest) -> list[UserSession]:
    found = UserSession.objects.purge_and_list(request.user)
    return sorted(found, key=lambda session: session.last_seen_at, reverse=True)
