"""Celery tasks. Running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from accounts.merchants.wallet_waits import apply_wallet_change_hours
from wallets.receiving.changes import apply_wallet_changes
from wallets.receiving.inspection import review_wallets


@shared_task(name="wallets.apply_wallet_changes")
def apply_wallet_changes_task() -> int:
    """Apply due changes: other receiving wallets, and shorter waits."""
    now = timezone.now()
    return apply_wallet_changes(now=now) + apply_wallet_change_hours(now=now)


@shared_task(name="wallets.review_wallets")
def review_wallets_task() -> int:
    """Look stored receiving wallets up again, and refuse those that lose what they receive."""
    return review_wallets(now=timezone.now())
