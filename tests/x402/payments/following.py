"""Payments of machines as their transfers move."""

from typing import Any

from django.utils import timezone

from wallets.models import Transfer
from wallets.states import ClaimKind
from x402.models import X402Payment
from x402.payments.transfers import follow_transfers


def follow() -> X402Payment | None:
    follow_transfers(now=timezone.now())
    assert not Transfer.objects.queued(ClaimKind.X402).exists()
    return X402Payment.objects.first()


def becomes(transfer: Transfer, state: str, **values: Any) -> X402Payment:
    """Let the watcher move a transfer, and follow it."""
    now = timezone.now()
    times = {"confirmed": "confirmed_at", "orphaned": "orphaned_at"}
    if state in times:
        values[times[state]] = now
    Transfer.objects.filter(pk=transfer.pk).update(state=state, queued_at=now, **values)
    payment = follow()
    assert payment is not None
    return payment
