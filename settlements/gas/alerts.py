"""Mails to operators about gas accounts."""

from datetime import datetime, timedelta
from typing import Final

from accounts.team.operators import operators
from mails.outbox import queue_mail

TELL_EVERY: Final = timedelta(days=1)
"""The minimum time between two mails to operators about the same thing."""


def tell_operators(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Queue a mail to each operator, in the caller's transaction; `key` identifies the subject."""
    _tell(f"{key}:{now:%Y%m%dT%H%M%S}", subject, text, now)


def tell_operators_daily(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Queue a mail to each operator like `tell_operators`, at most one per subject and day (UTC)."""
    _tell(f"{key}:{now:%Y%m%d}", subject, text, now)


def _tell(key: str, subject: str, text: str, now: datetime) -> None:
    for operator in operators():
        queue_mail(key=f"{key}:{operator.public_id}", recipient=operator.email, subject=subject, text=text, now=now)
