"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

import time
from typing import Final

from celery import shared_task
from django.utils import timezone

from mails.sender import prune_mails, send_due_mails

# A server that answers a byte at a time would hold the worker until it is killed.
SOFT_LIMIT: Final = 45
_LOOKING_SECONDS: Final = 20.0


@shared_task(name="mails.send_due_mails", soft_time_limit=SOFT_LIMIT)
def send_due_mails_task() -> int:
    """Send due mails; repeat after each round, because other senders were locked out meanwhile."""
    ends_at = time.monotonic() + _LOOKING_SECONDS
    total = 0
    while time.monotonic() < ends_at:
        taken = send_due_mails(now=timezone.now())
        if not taken:
            break
        total += taken
    return total


@shared_task(name="mails.prune_mails")
def prune_mails_task() -> int:
    """Delete mails older than 30 days."""
    return prune_mails(now=timezone.now())
