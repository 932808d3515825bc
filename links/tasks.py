"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from links.subscriptions.service import plan_reminders, settle_accepted, settle_subscriptions


@shared_task(name="links.settle_subscriptions")
def settle_subscriptions_task() -> int:
    """Count the ended checkouts of subscriptions."""
    return settle_subscriptions(now=timezone.now())


@shared_task(name="links.plan_reminders")
def plan_reminders_task() -> int:
    """Queue reminders to subscribers whose paid time ends soon, after counting accepted late money."""
    now = timezone.now()
    settle_accepted(now=now)
    return plan_reminders(now=now)
