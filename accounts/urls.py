"""What belongs to a person and to no merchant: logging in, second factors, sessions, invitations."""

from allauth.account.decorators import reauthentication_required
from allauth.account.views import email
from django.urls import include, path
from django.views.generic import RedirectView

from accounts.views import invitations, security

# The library asks for no proof here, and whoever changes the address can have the password reset.
change_email = reauthentication_required(app="allauth.account")(email)

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
    path("second-factor/", include("allauth.mfa.urls")),
    path("invitation/<str:token>/", invitations.invitation, name="account_invitation"),
]
