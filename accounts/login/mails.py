"""Texts of mails and messages about a person's login, in place of the login library's."""

from typing import Any, Final

_WHO: Final = (
    "\n\nIt was done from the address {ip}.\nIf that was not you, reset your password at once:\n"
    "{base_url}/account/password/reset/"
)
_IGNORE: Final = "\n\nIf you did not ask for this, ignore this mail."

# By the library's name of a mail: subject and text.
LETTERS: Final = {
    "account/email/email_confirmation_signup": (
        "{code} is your code for Florin",
        "Your code is {code}. Type it where you signed up, within fifteen minutes."
        + _IGNORE,
    ),
    "account/email/email_confirmation": (
        "{code} is your code for Florin",
        "Your code is {code}. Type it on the page that asks for it, within fifteen minutes."
        + _IGNORE,
    ),
    "account/email/account_already_exists": (
        "You have an account on Florin",
        "Somebody, perhaps you, signed up with this address. There is an account with it already:\n"
        "{base_url}/account/login/\n\nIf you do not know its password:\n{base_url}/account/password/reset/"
        + _IGNORE,
    ),
    "account/email/unknown_account": (
        "No account on Florin with this address",
        "Somebody, perhaps you, asked to reset the password of this address. There is no account with it; perhaps you"
        " signed up with another one." + _IGNORE,
    ),
    "account/email/password_reset_key": (
        "Reset your password for Florin",
        "Choose a new password here; the link works once, and for an hour:\n{password_reset_url}"
        + _IGNORE,
    ),
    "account/email/password_changed": (
        "Your password was changed",
        "The password of your account on Florin was changed, and every other login ended."
        + _WHO,
    ),
    "account/email/password_set": (
        "Your account has a password",
        "A password was set for your account on Florin." + _WHO,
    ),
    "account/email/password_reset": (
        "Your password was reset",
        "The password of your account on Florin was reset by mail, and every login ended."
        + _WHO,
    ),
    "account/email/email_changed": (
        "Your e-mail address was changed",
        "The address of your account on Florin was changed from {from_email} to {to_email}."
        + _WHO,
    ),
    "account/email/email_deleted": (
        "An e-mail address was removed",
        "The address {deleted_email} was removed from your account on Florin." + _WHO,
    ),
    "mfa/email/totp_activated": (
        "An authenticator app was added",
        "From now on logging in to Florin asks for a code of your authenticator app."
        + _WHO,
    ),
    "mfa/email/totp_deactivated": (
        "The authenticator app was removed",
        "Logging in to Florin does not ask for a code of your authenticator app any more."
        + _WHO,
    ),
    "mfa/email/webauthn_added": (
        "A passkey was added",
        "A passkey was added to your account on Florin." + _WHO,
    ),
    "mfa/email/webauthn_removed": (
        "A passkey was removed",
        "A passkey was removed from your account on Florin." + _WHO,
    ),
    "mfa/email/recovery_codes_generated": (
        "New recovery codes were made",
        "New recovery codes were made for your account on Florin. The old ones do not work any more."
        + _WHO,
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
    "account/messages/password_changed.txt": "Your password was changed. Every other login ended.",
    "account/messages/password_set.txt": "Your password was set.",
    "account/messages/logged_in.txt": "",
    "account/messages/logged_out.txt": "You are logged out.",
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app was removed.",
    "mfa/messages/webauthn_added.txt": "The passkey was added.",
    "mfa/messages/webauthn_removed.txt": "The passkey was removed.",
    "mfa/messages/recovery_codes_generated.txt": "",
    "usersessions/messages/sessions_logged_out.txt": "Every other login ended.",
}


def letter(name: str, words: dict[str, Any]) -> tuple[str, str]:
    """Return subject and text of the library's mail `name`."""
    subject, text = LETTERS[name]
    return subject.format(**words), text.format(**words)
