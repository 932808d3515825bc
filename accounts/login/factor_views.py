"""Changes of a person's second factors, each in one transaction with its audit entry.

The library alone commits a change first. If the process then died, the change would have no entry.
"""

from typing import Any

from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone

from accounts.login.adapter import audit_login_change


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
