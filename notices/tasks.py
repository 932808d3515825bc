"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from notices.devices import end_lost
from notices.mails import queue_digests
from notices.telling import tell_all
from webhooks.endpoints.targets import prune_notes


@shared_task(name="notices.tell")
def tell_task() -> int:
    """End devices that are no more, and tell people what happened since the last time."""
    now = timezone.now()
    end_lost(now=now)
    return tell_all(now=now)


@shared_task(name="notices.queue_digests")
def queue_digests_task() -> int:
    """Queue yesterday's mails, once a day."""
    return queue_digests(now=timezone.now())


@shared_task(name="notices.prune")
def prune_task() -> int:
    """Delete what people were told over 30 days ago."""
    return prune_notes(now=timezone.now())
