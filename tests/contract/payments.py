"""Bringing checkouts into each status, by the same services that watchers and sweeps call."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from checkouts.attribution.queue import attribute_transfers
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from gateway.core.money import to_units
from tests.factories import make_transfer
from wallets.models import ChainCursor, Transfer
from wallets.states import TransferState


def pay(checkout_id: str, share: int = 100, *, final: bool = True, **facts: object) -> Transfer:
    """Send `share` per cent of the price to a checkout's address, and credit it."""
    now = timezone.now()
    checkout = Checkout.objects.get(public_id=checkout_id)
    times: dict[str, object] = {"block_time": now, "detected_at": now, "queued_at": now}
    if final:
        times |= {"state": TransferState.CONFIRMED, "confirmed_at": now}
    units = to_units(checkout.amount) * share // 100
    transfer = make_transfer(checkout, units, **(times | facts))
    attribute_transfers(now=now)
    return transfer


def expire(checkout_id: str) -> None:
    """Let a checkout's time pass, its chains read past it."""
    now = timezone.now()
    past = now - timedelta(minutes=10)
    Checkout.objects.filter(public_id=checkout_id).update(expires_at=past)
    ChainCursor.objects.update(read_through_at=now)
    assert expire_due_checkouts(now=now) == 1


BRING_TO: dict[CheckoutStatus, Callable[[str], object]] = {
    CheckoutStatus.PENDING: lambda checkout_id: None,
    CheckoutStatus.PROCESSING: lambda checkout_id: pay(checkout_id, final=False),
    CheckoutStatus.UNDERPAID: lambda checkout_id: pay(checkout_id, 50),
    CheckoutStatus.COMPLETED: pay,
    CheckoutStatus.EXPIRED: expire,
}
