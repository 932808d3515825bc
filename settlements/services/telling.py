"""Telling operators by mail what a gas account needs of them."""

from datetime import datetime, timedelta
from typing import Final

from accounts.operators import operators
from mails.services import queue_mail

TELL_EVERY: Final = timedelta(days=1)
"""How long operators are not told the same thing again."""


def tell_operators(key: str, *, subject: str, text: str, now: datetime) -> None:
    """Promise each operator a mail, in the caller's transaction; `key` says what it is about."""
    for operator in operators():
        queue_mail(
            key=f"{key}:{now:%Y%m%dT%H%M%S}:{operator.public_id}",
            recipient=operator.email,
            subject=subject,
            text=text,
            now=now,
        )
