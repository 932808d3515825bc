"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from accounts.merchants.payout_rules import apply_payout_rules
from payouts.batches.relays import send_signed
from payouts.batches.service import close_batches
from payouts.following.check import check_payouts
from payouts.following.service import follow_movements, recheck_payouts
from payouts.lifecycle.asked import note_asked
from payouts.lifecycle.noted import import_notes
from payouts.lifecycle.recipients import review_recipients
from payouts.lifecycle.service import cancel_sourceless, expire_claims
from payouts.testmode import play_outflows


@shared_task(name="payouts.expire_claims")
def expire_claims_task() -> int:
    """Expire payouts without an address in time, and cancel refunds whose payment a reorg removed."""
    now = timezone.now()
    return expire_claims(now=now) + cancel_sourceless(now=now)


@shared_task(name="payouts.review_recipients")
def review_recipients_task() -> int:
    """Ask chains about addresses of payouts that no node has spoken of yet."""
    return review_recipients(now=timezone.now())


@shared_task(name="payouts.close_batches")
def close_batches_task() -> int:
    """Close batches that are paid, and free the payouts of cancelled ones that cooled down."""
    return close_batches(now=timezone.now())


@shared_task(name="payouts.send_signed")
def send_signed_task() -> int:
    """Send what paying wallets signed, by our gas accounts."""
    return send_signed(now=timezone.now())


@shared_task(name="payouts.apply_rules")
def apply_rules_task() -> int:
    """Let looser rules for approvals take effect, once they have waited."""
    return apply_payout_rules(now=timezone.now())


@shared_task(name="payouts.check")
def check_payouts_task() -> int:
    """Take over what the release before noted, then compare refunds with their sources; log each difference as an error."""
    import_notes()
    return check_payouts()


@shared_task(name="payouts.note_asked")
def note_asked_task() -> int:
    """Note in the audit log what each API key asked for on days that have ended."""
    return note_asked(now=timezone.now())


@shared_task(name="payouts.follow")
def follow_movements_task() -> int:
    """Follow what left the wallets that pay payouts."""
    return follow_movements(now=timezone.now())


@shared_task(name="payouts.recheck")
def recheck_payouts_task() -> int:
    """Look for outflows that were missed, and keep paying wallets at full pace."""
    now = timezone.now()
    missed = recheck_payouts(now=now)
    follow_movements(now=now)
    return missed


@shared_task(name="payouts.play")
def play_outflows_task() -> int:
    """Play the due steps of test payouts."""
    return play_outflows(now=timezone.now())
