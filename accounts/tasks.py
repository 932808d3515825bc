"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from accounts.login.guard import forget_old_logins


@shared_task(name="accounts.forget_old_logins")
def forget_old_logins_task() -> int:
    """Delete ended sessions and old guesses."""
    return forget_old_logins(now=timezone.now())
