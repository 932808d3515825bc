"""Deletes old attempts."""

from datetime import datetime, timedelta

from webhooks.models import Attempt

ATTEMPTS_KEPT = timedelta(days=30)
_BATCH = 5_000


def prune_attempts(*, now: datetime) -> int:
    """Delete attempts older than 30 days; return how many. Events and deliveries stay."""
    cutoff = now - ATTEMPTS_KEPT
    pruned = 0
    while True:
        # Ids grow with time: once the oldest batch contains a recent one, the work is done.
        oldest = Attempt.objects.order_by("pk").values_list("pk", "started_at")[:_BATCH]
        expired = [pk for pk, started_at in oldest if started_at < cutoff]
        if expired:
            Attempt.objects.filter(pk__in=expired).delete()
            pruned += len(expired)
        if len(expired) < _BATCH:
            return pruned
