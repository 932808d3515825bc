"""Sweeps. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from accounts.login.cleanup import forget_old_logins


@shared_task(name="accounts.forget_old_logins")
def forget_old_logins_task() -> int:
    """Forget sessions and guesses that are over."""
    return forget_old_logins(now=timezone.now())
