"""Bells and sweeps. Each calls one service; running one twice, or never, loses nothing."""

from celery import shared_task
from django.utils import timezone

from facilitator.services.answers import forget_old
from facilitator.services.arriving import note_arrivals
from facilitator.services.following import follow_transfers
from facilitator.services.rechecking import recheck_payments
from facilitator.standard.authorizations import forget_unsent
from facilitator.standard.finishing import finish_open


@shared_task(name="facilitator.follow_transfers")
def follow_transfers_task() -> int:
    """Bring payments in line with the transfers whose facts changed."""
    return follow_transfers(now=timezone.now())


@shared_task(name="facilitator.recheck_payments")
def recheck_payments_task() -> int:
    """Look after payments that no watcher has recorded."""
    return recheck_payments(now=timezone.now())


@shared_task(name="facilitator.note_arrivals")
def note_arrivals_task() -> int:
    """Mark payments settled whose money reached the merchant's wallet."""
    return note_arrivals(now=timezone.now())


@shared_task(name="facilitator.finish_authorizations")
def finish_authorizations_task() -> int:
    """End signed authorisations that were sent and that nobody asks about any more."""
    return finish_open(clock=timezone.now)


@shared_task(name="facilitator.forget_old")
def forget_old_task() -> None:
    """Forget kept answers, first sightings and authorisations that nothing depends on any more."""
    now = timezone.now()
    forget_old(now=now)
    forget_unsent(now=now)
