"""Celery tasks. Running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from gateway.status.incidents import note_incidents


@shared_task(name="gateway.note_incidents")
def note_incidents_task() -> int:
    """Record what is late now as incidents, for the status page."""
    return note_incidents(now=timezone.now())
