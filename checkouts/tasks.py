"""Celery tasks. Each calls one service; running one twice or missing a run loses nothing."""

from celery import shared_task
from django.utils import timezone

from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.acceptances import apply_acceptances
from checkouts.inbox.rule import decide_certain
from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.counts import day_of
from checkouts.lifecycle.expiry import expire_due_checkouts, release_claims
from checkouts.reservations import release_amounts
from checkouts.search import take_in_words
from checkouts.testmode import play_due_steps
from gateway.core import daily_totals


@shared_task(name="checkouts.attribute_transfers")
def attribute_transfers_task() -> int:
    """Credit the transfers whose facts changed."""
    return attribute_transfers(now=timezone.now())


@shared_task(name="checkouts.expire_due_checkouts")
def expire_due_checkouts_task() -> int:
    """Expire checkouts that were not paid in time."""
    return expire_due_checkouts(now=timezone.now())


@shared_task(name="checkouts.play_due_steps")
def play_due_steps_task() -> int:
    """Play the due steps of test mode."""
    return play_due_steps(now=timezone.now())


@shared_task(name="checkouts.release_amounts")
def release_amounts_task() -> int:
    """Free the exact amounts of checkouts that ended long ago."""
    return release_amounts(now=timezone.now())


@shared_task(name="checkouts.release_claims")
def release_claims_task() -> int:
    """Release the wallets that another merchant has proven, once their checkouts have ended."""
    return release_claims(now=timezone.now())


@shared_task(name="checkouts.apply_decisions")
def apply_decisions_task() -> int:
    """Decide what merchants' rules call certain, and apply the decisions about money that can no longer be undone."""
    now = timezone.now()
    decide_certain(now=now)
    return apply_decisions(now=now) + apply_acceptances(now=now)


@shared_task(name="checkouts.check_totals")
def check_totals_task() -> int:
    """Compare the daily totals with their rows, and log each difference as an error."""
    return daily_totals.check(today=day_of(timezone.now()))


@shared_task(name="checkouts.fold_totals")
def fold_totals_task() -> int:
    """Fold the deltas of all kept totals."""
    return daily_totals.fold_all()


@shared_task(name="checkouts.take_in_words")
def take_in_words_task() -> int:
    """Put the words of new checkouts into their index."""
    return take_in_words()
