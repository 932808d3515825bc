"""The login library's forms, with Florin's texts, and guess limits on every secret."""

from typing import Any

from allauth.account import forms as library
from allauth.core import context
from allauth.mfa.base import forms as mfa
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp
from django import forms
from django.contrib.auth.hashers import make_password
from django.forms import Form
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.errors import LockedError
from accounts.login import guard
from accounts.login.adapter import invited_email
from accounts.login.factors import use_up
from accounts.login.guard import Secret
from accounts.words import LineField
from gateway.core.api.fields import ascii_digits

_LABELS = {
    "login": _("E-mail address"),
    "email": _("E-mail address"),
    "oldpassword": _("Present password"),
    "password1": _("Password"),
    "password2": _("The same again"),
}
_NEW_PASSWORD = _("At least ten characters. Common passwords are refused.")

_NOT_NOW = _("This code is already used or not valid yet. Wait for the next one.")


class PlainFields(Form):
    """A form mixin without placeholders and the library's lists of rules."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = _LABELS.get(name, field.label)
            if "password" in name:
                field.help_text = _NEW_PASSWORD if name == "password1" else ""


class LoginForm(PlainFields, library.LoginForm):  # type: ignore[misc]
    """Address and password. The adapter counts the guess."""


class ConfirmEmailForm(PlainFields, library.ConfirmEmailVerificationCodeForm):  # type: ignore[misc]
    """The mailed code."""


class ChangeEmailForm(PlainFields, library.ChangeEmailForm):  # type: ignore[misc]
    """A new login address."""


class PasswordAgainForm(PlainFields, library.ReauthenticateForm):  # type: ignore[misc]
    """The password, for reauthentication. The adapter counts the guess."""


class SetPasswordForm(PlainFields, library.SetPasswordForm):  # type: ignore[misc]
    """A first password."""


class ResetPasswordForm(PlainFields, library.ResetPasswordForm):  # type: ignore[misc]
    """The address whose password is to be reset."""


class SignupForm(PlainFields, library.SignupForm):  # type: ignore[misc]
    """A new account. An invited person must use the invited address."""

    # Strangers read it in our mails, so it has one plain line.
    name = LineField(
        label=_("Your name"), max_length=120, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    field_order = ["name", "email", "password1"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if invited := invited_email(context.request):
            self.fields["email"].initial = invited
            self.fields["email"].disabled = True

    def try_save(self, request: HttpRequest) -> Any:
        """Create the account. If the address already has one, take as long and answer the same, to reveal nothing."""
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
        return super().try_save(request)


class ChangePasswordForm(PlainFields, library.ChangePasswordForm):  # type: ignore[misc]
    """A new password. The current one can be guessed here as well as at login."""

    def clean_oldpassword(self) -> str:
        """Check the current password, within the guess limit."""
        _admit(self.user.email, Secret.PASSWORD)
        password: str = super().clean_oldpassword()
        guard.forgive(self.user.email, Secret.PASSWORD)
        return password


class ResetPasswordKeyForm(PlainFields, library.ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password, after the link in our mail."""

    def save(self) -> None:
        """Set it, and lift the lock from wrong passwords.

        The count of codes stays: the second factor protects against a stranger who reads the mail.
        """
        super().save()
        guard.forgive(self.user.email, Secret.PASSWORD)


class _GuardedCode:
    user: Any
    authenticator: Authenticator
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        """Check a code, within the guess limit."""
        now = timezone.now()
        _admit(self.user.email, Secret.CODE)
        self.cleaned_data["code"] = ascii_digits(self.cleaned_data["code"])
        code: str = super().clean_code()  # type: ignore[misc]
        if not use_up(self.authenticator, code, now=now):
            raise forms.ValidationError(_NOT_NOW)
        guard.forgive(self.user.email, Secret.CODE)
        return code


class AuthenticateForm(_GuardedCode, PlainFields, mfa.AuthenticateForm):  # type: ignore[misc]
    """The second factor of a login: a code of the app, or a recovery code."""


class ReauthenticateForm(_GuardedCode, PlainFields, mfa.ReauthenticateForm):  # type: ignore[misc]
    """A code, for reauthentication."""


def _admit(email: str, secret: Secret) -> None:
    try:
        guard.admit(email, secret, now=timezone.now())
    except LockedError as error:
        raise forms.ValidationError(str(error), code="locked") from error


class ActivateTotpForm(PlainFields, totp.ActivateTOTPForm):  # type: ignore[misc]
    """The first code of a new app; its key is on the same page, so there is nothing to guess."""

    def clean_code(self) -> str:
        """Check a code, in the digits of any script."""
        self.cleaned_data["code"] = ascii_digits(self.cleaned_data["code"])
        code: str = super().clean_code()
        return code
