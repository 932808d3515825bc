"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from payouts.batches import close_batches
from payouts.service import cancel_sourceless, expire_claims


@shared_task(name="payouts.expire_claims")
def expire_claims_task() -> int:
    """Expire payouts without an address in time, and cancel refunds whose payment a reorg removed."""
    now = timezone.now()
    return expire_claims(now=now) + cancel_sourceless(now=now)


@shared_task(name="payouts.close_batches")
def close_batches_task() -> int:
    """Close batches that are paid, and free the payouts of cancelled ones that cooled down."""
    return close_batches(now=timezone.now())
