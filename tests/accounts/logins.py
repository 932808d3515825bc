"""Logging in as a browser does, and reading the mail that came."""

import re
from datetime import datetime
from typing import Any

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client
from django.utils import timezone

from mails.models import OutgoingMail

LOGIN = "/account/login/"
ACTIVATE = "/account/second-factor/totp/activate/"
_CODE = re.compile(r"minutes:\n([A-Z0-9-]+)")
_ADDRESS = re.compile(r"https?://[^/\s]+(/account/\S+)")


def try_login(email: str, password: str, client: Client | None = None, **extra: Any) -> Any:
    """Send the login form."""
    client = client or Client()
    return client.post(LOGIN, {"login": email, "password": password} | extra)


def is_logged_in(client: Client) -> bool:
    """Whether the dashboard knows who it is."""
    return not client.get("/dashboard/")["Location"].startswith(LOGIN)


def last_mail(to: str) -> OutgoingMail:
    """The mail that was promised to an address last."""
    mail = OutgoingMail.objects.filter(recipient=to).order_by("pk").last()
    assert mail is not None
    return mail


def code_in(mail: OutgoingMail) -> str:
    """The code in a mail."""
    found = _CODE.search(mail.text)
    assert found, mail.text
    return found[1]


def link_in(mail: OutgoingMail) -> str:
    """The path that a mail leads to."""
    found = _ADDRESS.search(mail.text)
    assert found, mail.text
    return found[1]


def totp_code(secret: str, at: datetime | None = None) -> str:
    """What an authenticator app with that key shows, now or at another time."""
    counter = int((at or timezone.now()).timestamp()) // 30
    return str(format_hotp_value(hotp_value(secret, counter)))
