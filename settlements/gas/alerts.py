"""Telling operators by mail what a gas account needs of them."""

from datetime import datetime, timedelta
from typing import Final

from accounts.team.operators import operators
from mails.outbox import queue_mail

TELL_EVERY: Final = timedelta(days=1)
"""How long operators are not told the same thing again."""


def tell_operators(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Promise each operator a mail, in the caller's transaction; `key` says what it is about."""
    _tell(f"{key}:{now:%Y%m%dT%H%M%S}", subject, text, now)


def tell_operators_daily(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Promise each operator a mail like `tell_operators`, unless one was promised about it on this day (UTC)."""
    _tell(f"{key}:{now:%Y%m%d}", subject, text, now)


def _tell(key: str, subject: str, text: str, now: datetime) -> None:
    for operator in operators():
        queue_mail(
            key=f"{key}:{operator.public_id}",
            recipient=operator.email,
            subject=subject,
            text=text,
            now=now,
        )
