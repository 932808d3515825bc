"""Routes of a person's own pages: login, second factors, sessions, invitations."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from accounts.login import credential_views, factor_views, invitation_views, security_views

# Listed before the library's routes of the same names, to replace them.
credential_changes = [
    path("email/", credential_views.change_email, name="account_email"),
    path("confirm-email/", credential_views.confirm_email, name="account_email_verification_sent"),
    path("password/change/", credential_views.change_password, name="account_change_password"),
    path("password/set/", credential_views.set_password, name="account_set_password"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        credential_views.reset_password,
        name="account_reset_password_from_key",
    ),
]
factor_changes = [
    path("totp/activate/", factor_views.activate_totp, name="mfa_activate_totp"),
    path("totp/deactivate/", factor_views.deactivate_totp, name="mfa_deactivate_totp"),
    path("webauthn/add/", factor_views.add_webauthn, name="mfa_add_webauthn"),
    path("webauthn/keys/<int:pk>/remove/", factor_views.remove_webauthn, name="mfa_remove_webauthn"),
    path("recovery-codes/generate/", factor_views.generate_recovery_codes, name="mfa_generate_recovery_codes"),
]

urlpatterns = [
    path("", include(credential_changes)),
    path("", include("allauth.account.urls")),
    path("security/", security_views.security, name="account_security"),
    path("sessions/", security_views.sessions, name="account_sessions"),
    path("sessions/<int:session_id>/end/", security_views.end_session, name="account_end_session"),
    # The library redirects there; our page shows the same and more.
    path("second-factor/", RedirectView.as_view(pattern_name="account_security")),
    path("second-factor/", include(factor_changes)),
    path("second-factor/", include("allauth.mfa.urls")),
    path("invitation/<str:token>/", invitation_views.invitation, name="account_invitation"),
]
