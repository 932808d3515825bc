"""What belongs to a person and to no merchant: logging in, second factors, sessions, invitations."""

from allauth.account.decorators import reauthentication_required
from allauth.account.views import email
from django.urls import include, path
from django.views.generic import RedirectView

from accounts.views import factors, invitations, security

# The library asks for no proof here, and whoever changes the address can have the password reset.
change_email = reauthentication_required(app="allauth.account")(email)

# Before the library's own, whose names they have.
factor_changes = [
    path("totp/activate/", factors.activate_totp, name="mfa_activate_totp"),
    path("totp/deactivate/", factors.deactivate_totp, name="mfa_deactivate_totp"),
    path("webauthn/add/", factors.add_webauthn, name="mfa_add_webauthn"),
    path(
        "webauthn/keys/<int:pk>/remove/",
        factors.remove_webauthn,
        name="mfa_remove_webauthn",
    ),
    path(
        "recovery-codes/generate/",
        factors.generate_recovery_codes,
        name="mfa_generate_recovery_codes",
    ),
]

urlpatterns = [
    path("email/", change_email, name="account_email"),
    path("", include("allauth.account.urls")),
    path("security/", security.security, name="account_security"),
    path("sessions/", security.sessions, name="account_sessions"),
    path(
        "sessions/<int:session_id>/end/",
        security.end_session,
        name="account_end_session",
    ),
    # The library goes back there; ours shows the same and more.
    path("second-factor/", RedirectView.as_view(pattern_name="account_security")),
    path("second-factor/", include(factor_changes)),
    path("second-factor/", include("allauth.mfa.urls")),
    path("invitation/<str:token>/", invitations.invitation, name="account_invitation"),
]
