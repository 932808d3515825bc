"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from rates.service import fetch_rates


@shared_task(name="rates.fetch")
def fetch_task() -> int:
    """Ask the sources for rates; without any it does nothing."""
    return fetch_rates(clock=timezone.now)
