"""What people fill in, a module per noun. Those that the login library uses are named in `gateway.logins`."""

from accounts.forms.login import (
    ActivateTotpForm,
    AuthenticateForm,
    ChangeEmailForm,
    ChangePasswordForm,
    ConfirmEmailForm,
    LoginForm,
    PasswordAgainForm,
    ReauthenticateForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
    SignupForm,
)

__all__ = [
    "ActivateTotpForm",
    "AuthenticateForm",
    "ChangeEmailForm",
    "ChangePasswordForm",
    "ConfirmEmailForm",
    "LoginForm",
    "PasswordAgainForm",
    "ReauthenticateForm",
    "ResetPasswordForm",
    "ResetPasswordKeyForm",
    "SetPasswordForm",
    "SignupForm",
]
