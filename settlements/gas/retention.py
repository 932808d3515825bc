"""Deletes old gas data."""

from datetime import datetime, timedelta
from typing import Final

from settlements.models import GasAttempt, GasSpan
from settlements.states import TransactionState

RAW_KEPT: Final = timedelta(days=90)
"""How long signed bytes of used nonces are kept: longer than any reorg."""

SPANS_KEPT: Final = timedelta(days=7)
"""How long sums of gas are kept; the limits need one day."""

_BATCH: Final = 1_000
_USED: Final = (TransactionState.MINED, TransactionState.DROPPED)


def prune_raw(*, now: datetime) -> int:
    """Clear the signed bytes of attempts older than 90 days with used nonces; return how many.

    What was called, its hash and what it cost stay.
    """
    old = GasAttempt.objects.filter(signed_at__lt=now - RAW_KEPT, transaction__state__in=_USED).exclude(raw=b"")
    pruned = 0
    while keys := list(old.order_by("signed_at").values_list("pk", flat=True)[:_BATCH]):
        pruned += GasAttempt.objects.filter(pk__in=keys).update(raw=b"")
    return pruned


def prune_spans(*, now: datetime) -> int:
    """Delete sums older than a week; return how many."""
    pruned, _ = GasSpan.objects.filter(begins_at__lt=now - SPANS_KEPT).delete()
    return pruned
