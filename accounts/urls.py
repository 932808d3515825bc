"""Routes of a person's own pages: login, second factors, sessions, invitations."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from accounts.login import views

# Listed before the library's routes of the same names, to replace them.
credential_changes = [
    path("email/", views.change_email, name="account_email"),
    path("confirm-email/", views.confirm_email, name="account_email_verification_sent"),
    path("password/change/", views.change_password, name="account_change_password"),
    path("password/set/", views.set_password, name="account_set_password"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        views.reset_password,
        name="account_reset_password_from_key",
    ),
]
factor_changes = [
    path("totp/activate/", views.activate_totp, name="mfa_activate_totp"),
    path("totp/deactivate/", views.deactivate_totp, name="mfa_deactivate_totp"),
    path("webauthn/add/", views.add_webauthn, name="mfa_add_webauthn"),
    path("webauthn/keys/<int:pk>/remove/", views.remove_webauthn, name="mfa_remove_webauthn"),
    path("recovery-codes/generate/", views.generate_recovery_codes, name="mfa_generate_recovery_codes"),
]

urlpatterns = [
    path("", include(credential_changes)),
    path("", include("allauth.account.urls")),
    path("security/", views.security, name="account_security"),
    path("language/", views.language, name="account_language"),
    path("sessions/", views.sessions, name="account_sessions"),
    path("sessions/<int:session_id>/end/", views.end_session, name="account_end_session"),
    # The library redirects there; our page shows the same and more.
    path("second-factor/", RedirectView.as_view(pattern_name="account_security")),
    path("second-factor/", include(factor_changes)),
    path("second-factor/", include("allauth.mfa.urls")),
    path("invitation/<str:token>/", views.invitation, name="account_invitation"),
]
