"""Deletes old mail: addresses and texts are personal data."""

from datetime import datetime, timedelta
from typing import Final

from mails.models import OutgoingMail

MAILS_KEPT: Final = timedelta(days=30)
_BATCH: Final = 5_000


def prune_mails(*, now: datetime) -> int:
    """Delete mails queued more than 30 days ago that were sent or given up; return how many."""
    ended = OutgoingMail.objects.filter(due_at=None, created_at__lt=now - MAILS_KEPT)
    pruned = 0
    while ids := list(ended.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        deleted, _ = OutgoingMail.objects.filter(pk__in=ids).delete()
        pruned += deleted
    return pruned
