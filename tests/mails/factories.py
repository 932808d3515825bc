"""Mails that were promised."""

from datetime import datetime
from typing import Any

from mails.models import OutgoingMail
from mails.outbox import queue_mail
from tests.factories import NOON

ADA = "ada@example.test"


def make_mail(key: str = "note:1", *, now: datetime = NOON, **overrides: str) -> OutgoingMail:
    """A mail to Ada, due at noon."""
    values: dict[str, Any] = {"recipient": ADA, "subject": "News", "text": "Hello.\n"}
    mail = queue_mail(key=key, now=now, **(values | overrides))
    assert mail
    return mail
