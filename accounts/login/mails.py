"""Texts of mails and messages about a person's login, in place of the login library's."""

from typing import Any, Final

_WHO: Final = (
    "\n\nThe request came from the IP address {ip}.\nIf this was not you, reset your password at once:\n"
    "{base_url}/account/password/reset/"
)
_IGNORE: Final = "\n\nIf you did not ask for this, ignore this mail."

# By the library's name of a mail: subject and text.
LETTERS: Final = {
    "account/email/email_confirmation_signup": (
        "{code} is your code for Florin",
        "Your code is {code}. Enter it where you signed up within fifteen minutes." + _IGNORE,
    ),
    "account/email/email_confirmation": (
        "{code} is your code for Florin",
        "Your code is {code}. Enter it on the page that asks for it within fifteen minutes." + _IGNORE,
    ),
    "account/email/account_already_exists": (
        "You have an account on Florin",
        "You or another person tried to sign up with this address. It already has an account:\n"
        "{base_url}/account/login/\n\nTo reset its password:\n{base_url}/account/password/reset/" + _IGNORE,
    ),
    "account/email/unknown_account": (
        "No account on Florin with this address",
        "You or another person asked to reset the password for this address. No account uses it. You may have signed up"
        " with another address." + _IGNORE,
    ),
    "account/email/password_reset_key": (
        "Reset your password for Florin",
        "Choose a new password here. The link works once, for one hour:\n{password_reset_url}" + _IGNORE,
    ),
    "account/email/password_changed": (
        "Your password was changed",
        "The password of your account on Florin was changed, and all other sessions have ended." + _WHO,
    ),
    "account/email/password_set": (
        "Your account has a password",
        "A password was set for your account on Florin." + _WHO,
    ),
    "account/email/password_reset": (
        "Your password was reset",
        "The password of your account on Florin was reset by mail, and all sessions have ended." + _WHO,
    ),
    "account/email/email_changed": (
        "Your e-mail address was changed",
        "The address of your account on Florin was changed from {from_email} to {to_email}." + _WHO,
    ),
    "account/email/email_deleted": (
        "An e-mail address was removed",
        "The address {deleted_email} was removed from your account on Florin." + _WHO,
    ),
    "mfa/email/totp_activated": (
        "An authenticator app was added",
        "You now need a code from your authenticator app to log in to Florin." + _WHO,
    ),
    "mfa/email/totp_deactivated": (
        "The authenticator app was removed",
        "You no longer need a code from your authenticator app to log in to Florin." + _WHO,
    ),
    "mfa/email/webauthn_added": ("A passkey was added", "A passkey was added to your account on Florin." + _WHO),
    "mfa/email/webauthn_removed": (
        "A passkey was removed",
        "A passkey was removed from your account on Florin." + _WHO,
    ),
    "mfa/email/recovery_codes_generated": (
        "New recovery codes were created",
        "New recovery codes were created for your account on Florin. The old codes no longer work." + _WHO,
    ),
}

# By the library's name of a message; the next page shows it.
MESSAGES: Final = {
    "account/messages/email_confirmation_sent.txt": "We sent a code to {email}.",
    "account/messages/email_confirmed.txt": "{email} is confirmed.",
    "account/messages/email_confirmation_failed.txt": "{email} belongs to another account.",
    "account/messages/email_deleted.txt": "{email} was removed.",
    "account/messages/primary_email_set.txt": "Your e-mail address was changed.",
    "account/messages/unverified_primary_email.txt": "Confirm the address first.",
    "account/messages/cannot_delete_primary_email.txt": "You need this address to log in.",
    "account/messages/password_changed.txt": "Your password was changed. All other sessions have ended.",
    "account/messages/password_set.txt": "Your password was set.",
    "account/messages/logged_in.txt": "",
    "account/messages/logged_out.txt": "You are logged out.",
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app was removed.",
    "mfa/messages/webauthn_added.txt": "The passkey was added.",
    "mfa/messages/webauthn_removed.txt": "The passkey was removed.",
    "mfa/messages/recovery_codes_generated.txt": "",
    "usersessions/messages/sessions_logged_out.txt": "All other sessions have ended.",
}


def letter(name: str, words: dict[str, Any]) -> tuple[str, str]:
    """Return subject and text of the library's mail `name`."""
    subject, text = LETTERS[name]
    return subject.format(**words), text.format(**words)
