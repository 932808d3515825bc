"""Celery tasks. Each calls one service. It may run twice or late without harm."""

from celery import shared_task
from django.utils import timezone

from x402.exact.authorizations import forget_unsent
from x402.exact.facilitator import finish_open
from x402.payments.claims import forget_old
from x402.payments.rechecks import note_arrivals, recheck_payments
from x402.payments.transfers import follow_transfers


@shared_task(name="x402.follow_transfers")
def follow_transfers_task() -> int:
    """Update payments from the transfers whose facts changed."""
    return follow_transfers(now=timezone.now())


@shared_task(name="x402.recheck_payments")
def recheck_payments_task() -> int:
    """Recheck payments that no watcher has recorded."""
    return recheck_payments(now=timezone.now())


@shared_task(name="x402.note_arrivals")
def note_arrivals_task() -> int:
    """Mark payments settled whose money reached the merchant's wallet."""
    return note_arrivals(now=timezone.now())


@shared_task(name="x402.finish_authorizations")
def finish_authorizations_task() -> int:
    """Resume abandoned settlements: signed authorisations that were sent and have no waiting request."""
    return finish_open(clock=timezone.now)


@shared_task(name="x402.forget_old")
def forget_old_task() -> None:
    """Delete kept responses, sightings and authorisations that are too old to matter."""
    now = timezone.now()
    forget_old(now=now)
    forget_unsent(now=now)
