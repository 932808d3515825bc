"""Celery tasks. Running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from gateway.status.incidents import note_incidents
from gateway.status.system_events import publish_system_events


@shared_task(name="gateway.note_incidents")
def note_incidents_task() -> int:
    """Record what is late now as incidents, for the status page, and tell the servers that chose to know."""
    now = timezone.now()
    open_ones = note_incidents(now=now)
    publish_system_events(now=now)
    return open_ones
