"""Adapters of the login library: sign-up, guess limits, mails and auditing."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import qrcode
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from qrcode.image.svg import SvgPathImage

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.errors import InvitationError, LockedError
from accounts.freshness import needs_proof
from accounts.login import guard
from accounts.login.devices import passkey_name
from accounts.login.guard import Secret
from accounts.login.sessions import session_address
from accounts.models import EMAIL_LENGTH, User
from accounts.team.operators import end_look
from accounts.team.service import find_invitation
from gateway.core import secrets
from gateway.core.api import rate_limits
from gateway.core.api.rate_limits import Limit
from gateway.core.ids import new_code
from gateway.core.web.client_address import address_or_none
from gateway.core.web.login_languages import ENGLISH, chosen_language, mail_language
from mails.outbox import queue_mail

# The names of what a mail has on a line of its own: within a sentence of a language that is written from right to left,
# the marks around it would become part of an address or a code that is copied.
_LOGIN_URL: Final = "login_url"
_RESET_URL: Final = "reset_url"
_KEY_URL: Final = "password_reset_url"
_CODE: Final = "code"


class _Paragraph(NamedTuple):
    """A text, and the name of what stands on a line of its own below it, if anything."""

    text: Promise
    below: str = ""


class _Letter(NamedTuple):
    """A mail."""

    subject: Promise
    paragraphs: tuple[_Paragraph, ...]


_WHO: Final = _Paragraph(
    _("The request came from the IP address %(ip)s.\nIf this was not you, reset your password at once:"), _RESET_URL
)
_IGNORE: Final = _Paragraph(_("If you did not ask for this, ignore this mail."))
# By the library's name of a mail.
LETTERS: Final = {
    "account/email/email_confirmation_signup": _Letter(
        _("%(code)s is your code for Florin"),
        (_Paragraph(_("Enter this code where you signed up within fifteen minutes:"), _CODE), _IGNORE),
    ),
    "account/email/email_confirmation": _Letter(
        _("%(code)s is your code for Florin"),
        (_Paragraph(_("Enter this code on the page that asks for it within fifteen minutes:"), _CODE), _IGNORE),
    ),
    "account/email/account_already_exists": _Letter(
        _("You have an account on Florin"),
        (
            _Paragraph(
                _("You or another person tried to sign up with this address. It already has an account:"), _LOGIN_URL
            ),
            _Paragraph(_("To reset its password:"), _RESET_URL),
            _IGNORE,
        ),
    ),
    "account/email/unknown_account": _Letter(
        _("No account on Florin with this address"),
        (
            _Paragraph(
                _(
                    "You or another person asked to reset the password for this address. No account uses it. You may have signed up"
                    " with another address."
                )
            ),
            _IGNORE,
        ),
    ),
    "account/email/password_reset_key": _Letter(
        _("Reset your password for Florin"),
        (_Paragraph(_("Choose a new password here. The link works once, for one hour:"), _KEY_URL), _IGNORE),
    ),
    "account/email/password_changed": _Letter(
        _("Your password was changed"),
        (_Paragraph(_("The password of your account on Florin was changed, and all other sessions have ended.")), _WHO),
    ),
    "account/email/password_set": _Letter(
        _("Your account has a password"), (_Paragraph(_("A password was set for your account on Florin.")), _WHO)
    ),
    "account/email/password_reset": _Letter(
        _("Your password was reset"),
        (_Paragraph(_("The password of your account on Florin was reset by mail, and all sessions have ended.")), _WHO),
    ),
    "account/email/email_changed": _Letter(
        _("Your e-mail address was changed"),
        (_Paragraph(_("The address of your account on Florin was changed from %(from_email)s to %(to_email)s.")), _WHO),
    ),
    "account/email/email_deleted": _Letter(
        _("An e-mail address was removed"),
        (_Paragraph(_("The address %(deleted_email)s was removed from your account on Florin.")), _WHO),
    ),
    "mfa/email/totp_activated": _Letter(
        _("An authenticator app was added"),
        (_Paragraph(_("You now need a code from your authenticator app to log in to Florin.")), _WHO),
    ),
    "mfa/email/totp_deactivated": _Letter(
        _("The authenticator app was removed"),
        (_Paragraph(_("You no longer need a code from your authenticator app to log in to Florin.")), _WHO),
    ),
    "mfa/email/webauthn_added": _Letter(
        _("A passkey was added"), (_Paragraph(_("A passkey was added to your account on Florin.")), _WHO)
    ),
    "mfa/email/webauthn_removed": _Letter(
        _("A passkey was removed"), (_Paragraph(_("A passkey was removed from your account on Florin.")), _WHO)
    ),
    "mfa/email/recovery_codes_generated": _Letter(
        _("New recovery codes were created"),
        (
            _Paragraph(_("New recovery codes were created for your account on Florin. The old codes no longer work.")),
            _WHO,
        ),
    ),
}
# By the library's name of a message; the next page shows it.
MESSAGES: Final[Mapping[str, Promise | str]] = {
    "account/messages/email_confirmation_sent.txt": _("We sent a code to %(email)s."),
    "account/messages/email_confirmed.txt": _("%(email)s is confirmed."),
    "account/messages/email_confirmation_failed.txt": _("%(email)s belongs to another account."),
    "account/messages/email_deleted.txt": _("%(email)s was removed."),
    "account/messages/primary_email_set.txt": _("Your e-mail address was changed."),
    "account/messages/unverified_primary_email.txt": _("Confirm the address first."),
    "account/messages/cannot_delete_primary_email.txt": _("You need this address to log in."),
    "account/messages/password_changed.txt": _("Your password was changed. All other sessions have ended."),
    "account/messages/password_set.txt": _("Your password was set."),
    "account/messages/logged_in.txt": "",
    "account/messages/logged_out.txt": _("You are logged out."),
    "mfa/messages/totp_activated.txt": _("Your authenticator app is set up."),
    "mfa/messages/totp_deactivated.txt": _("Your authenticator app was removed."),
    "mfa/messages/webauthn_added.txt": _("The passkey was added."),
    "mfa/messages/webauthn_removed.txt": _("The passkey was removed."),
    "mfa/messages/recovery_codes_generated.txt": "",
    "usersessions/messages/sessions_logged_out.txt": _("All other sessions have ended."),
}

# The session's key for the invitation that the person used.
INVITATION_KEY: Final = "invitation"
# Limits of mails that strangers can trigger to an address. Notices of changes are not limited: otherwise the person who
# made a change could suppress them.
_PER_RECIPIENT: Final = Limit("login-mail", 10, 3600)
_ASKED_FOR: Final = frozenset(
    f"account/email/{name}"
    for name in (
        "account_already_exists",
        "email_confirmation",
        "email_confirmation_signup",
        "password_reset_key",
        "unknown_account",
    )
)
# Signals after the commit, for which `accounts.login.views` has written the entry with the change.
_AUDITED_BEFORE: Final = frozenset({"mfa/email/totp_activated", "mfa/email/recovery_codes_generated"})


def letter(name: str, words: dict[str, Any]) -> tuple[str, str]:
    """Return subject and text of the library's mail `name`."""
    subject, paragraphs = LETTERS[name]
    base = words["base_url"]
    facts = words | {_LOGIN_URL: f"{base}/account/login/", _RESET_URL: f"{base}/account/password/reset/"}
    text = [f"{str(said) % facts}\n{facts[below]}" if below else str(said) % facts for said, below in paragraphs]
    return str(subject) % facts, "\n\n".join(text)


class LoginAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """The library's decisions about logins."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("The e-mail address or the password is wrong."),
        "incorrect_password": _("The password is wrong."),
        "enter_current_password": _("This is not your current password."),
        "incorrect_code": _("The code is wrong."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether this person may create an account: everyone may, or only invited people."""
        return settings.SIGNUP_OPEN or invited_email(request) is not None

    def clean_email(self, email: str) -> str:
        """Return an address in lower case. Raises ValidationError if its column cannot hold it: the library would cut it off."""
        if len(email) > EMAIL_LENGTH:
            raise ValidationError(gettext("Use at most %(count)s characters.") % {"count": EMAIL_LENGTH})
        return email

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Store the name as well. An invitation proves the address."""
        user.name = form.cleaned_data.get("name", "")
        if invited_email(request):
            self.stash_verified_email(request, form.cleaned_data["email"])
        saved: User = super().save_user(request, user, form, commit)
        return saved

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the guess before it is checked."""
        try:
            guard.admit(credentials["email"], Secret.PASSWORD, now=timezone.now())
        except LockedError as error:
            raise ValidationError(str(error), code="locked") from error

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Check a password, and forget earlier guesses if it is right."""
        user: User | None = super().authenticate(request, **credentials)
        if user is not None:
            guard.forgive(credentials["email"], Secret.PASSWORD)
            if request.user == user:
                # Django may have just replaced an older hash; this session continues.
                request.session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        return user

    def login(self, request: HttpRequest, user: User) -> None:
        """Log in. A person without a language keeps the one that they chose at the foot of the login page."""
        super().login(request, user)
        if not user.language and (chosen := chosen_language(request)):
            user.language = chosen
            user.save(update_fields=["language"])
            _tell_of_language(request, chosen)

    def logout(self, request: HttpRequest) -> None:
        """Log out. It ends an operator's impersonation."""
        end_look(request, now=timezone.now())
        super().logout(request)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Require reauthentication if the last one is too old. A login counts."""
        return needs_proof(self.request, now=timezone.now())

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the methods of reauthentication, a passkey first.

        With a second factor, that one is required: a session thief may well have the password.
        """
        methods = super().get_reauthentication_methods(user)
        factors = [one for one in methods if one["id"] != "reauthenticate"]
        factors.sort(key=lambda one: one["id"] != "mfa_reauthenticate:webauthn")
        return factors or methods

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's address as trusted proxies report it."""
        return session_address(request)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the page for resetting a password, at the configured base address instead of the request's host."""
        return f"{settings.BASE_URL}/account/password/reset/key/{key}/"

    def send_mail(self, template_prefix: str, email: str, context: Any) -> None:
        """Queue a mail with Florin's text."""
        moment = timezone.now()
        if template_prefix in _ASKED_FOR and _had_enough(email, moment):
            return
        words = {"base_url": settings.BASE_URL, "ip": "unknown"} | dict(context)
        subject, text = letter(template_prefix, words)
        queue_mail(key=f"login:{new_code()}", recipient=email, subject=subject, text=text, now=moment)

    def send_notification_mail(
        self, template_prefix: str, user: User, context: dict[str, Any] | None = None, email: str | None = None
    ) -> None:
        """Audit a change of a person's login, and notify them by mail."""
        if template_prefix not in _AUDITED_BEFORE:
            action = template_prefix.replace("/email/", ".")
            audit_login_change(self.request, action, user=user, now=timezone.now())
        super().send_notification_mail(template_prefix, user, context, email)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Show Florin's text on the next page."""
        text = message or str(MESSAGES[str(message_template)]) % (message_context or {})
        if text:
            messages.add_message(request, level, text, extra_tags=extra_tags)


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors: their secrets are stored encrypted, as webhook secrets are."""

    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": _("The code is wrong.")}

    def encrypt(self, text: str) -> str:
        """Encrypt a secret for the database."""
        return secrets.seal(text).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret from the database."""
        return secrets.unseal(encrypted_text.encode())

    def generate_authenticator_name(self, user: User, kind: Authenticator.Type) -> str:
        """Return the name that a new passkey has unless the person gives another: its browser and system."""
        rows = Authenticator.objects.filter(user=user, type=kind)
        named = [str(one.data.get("name", "")) for one in rows]
        return passkey_name(context.request.headers.get("User-Agent", ""), named)

    def build_totp_svg(self, url: str) -> str:
        """Return the key's QR code as inline SVG: the content security policy allows no data: images."""
        drawn = qrcode.make(url, image_factory=SvgPathImage, border=2)
        return str(drawn.to_string(encoding="unicode"))


def _had_enough(email: str, now: datetime) -> bool:
    used = rate_limits.hit(_PER_RECIPIENT, email.casefold(), now=now.timestamp())
    return used.exceeded


def invited_email(request: HttpRequest) -> str | None:
    """Return the address of the open invitation in this session."""
    token = request.session.get(INVITATION_KEY)
    if not token:
        return None
    try:
        return find_invitation(token, now=timezone.now()).email
    except InvitationError:
        return None


def _tell_of_language(request: HttpRequest, code: str) -> None:
    """Say which language a person keeps from this login on, if mails change by it: a link can choose it."""
    if mail_language(code) == ENGLISH:
        return
    words = gettext("Your pages and mails are in %(language)s from now on. Choose another language under Your login.")
    messages.success(request, words % {"language": dict(settings.LANGUAGES)[code]}, fail_silently=True)


def audit_login_change(request: HttpRequest, action: str, *, user: User, now: datetime) -> None:
    """Audit a change of a person's own login; it belongs to no merchant."""
    record(None, action=action, actor=Actor(user, address=address_or_none(request)), object_id=user.public_id, now=now)
