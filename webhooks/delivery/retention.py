"""Removes old attempts, and makes room for those to come."""

from datetime import datetime, timedelta

from django.conf import settings

from webhooks.delivery.partitions import drop_partitions, make_partitions


def prune_attempts(*, now: datetime) -> int:
    """Drop months of attempts that are older than WEBHOOK_ATTEMPT_DAYS; return how many. Events and deliveries stay.

    First the months to come get their tables.
    """
    make_partitions(now=now)
    kept = timedelta(days=settings.WEBHOOK_ATTEMPT_DAYS)
    return drop_partitions(before=now - kept)
