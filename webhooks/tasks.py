"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from webhooks.delivery.partitions import prune_attempts
from webhooks.endpoints.service import tell_owners


@shared_task(name="webhooks.prune_attempts")
def prune_attempts_task() -> int:
    """Make the months of attempts to come, and drop those that are too old."""
    return prune_attempts(now=timezone.now())


@shared_task(name="webhooks.tell_owners")
def tell_owners_task() -> int:
    """Mail owners whose endpoint keeps failing."""
    return tell_owners(now=timezone.now())
