"""Sweeps. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from webhooks import services


@shared_task(name="webhooks.prune_attempts")
def prune_attempts_task() -> int:
    """Delete attempts older than 30 days."""
    return services.prune_attempts(now=timezone.now())


@shared_task(name="webhooks.tell_owners")
def tell_owners_task() -> int:
    """Mail owners whose endpoint keeps failing."""
    return services.tell_owners(now=timezone.now())
