"""Creates successors: new checkouts that late money pays once a person accepts it. The expired checkout never changes."""

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.states import Mode
from checkouts.attribution.credit import write_credits
from checkouts.errors import DecisionFailedError
from checkouts.lifecycle.counts import DayChange, add_to_days, count, day_of
from checkouts.lifecycle.moves import recompute
from checkouts.models import Checkout, InboxDecision, InboxItem, Payment
from checkouts.pricing import needed_units
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from gateway.core.ids import new_id
from wallets.models import Transfer, TransferClaim
from wallets.states import TransferState

LATE_KINDS: Final = (InboxReason.LATE, InboxReason.LATE_OUTAGE)
# Copied from the expired checkout.
_INHERITED: Final = (
    "merchant_id",
    "mode",
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "customer_ref",
    "product_ref",
    "order_ref",
    # The money does not move: the successor shares the expired checkout's hold.
    "escrow",
)


def free_transfer(pk: int) -> Transfer:
    """Lock an unused transfer. Raises DecisionFailedError if it is used, or a reorg removed it."""
    transfer = _lock([pk])[0]
    if TransferClaim.objects.filter(transfer=pk).exists():
        raise DecisionFailedError("This transfer has already been credited.")
    if transfer.state == TransferState.ORPHANED:
        raise DecisionFailedError("The network reversed this transfer.")
    return transfer


def late_items(item: InboxItem) -> list[InboxItem]:
    """Return the item and its checkout's other late items without a decision.

    Transfers that a reorg removed, or that were credited elsewhere, are left out.
    """
    decided = InboxDecision.objects.filter(item=OuterRef("pk"), undone_at=None, failed_at=None)
    others = Q(checkout=item.checkout_id, reason__in=LATE_KINDS) & ~Exists(decided)
    unused = Q(transfer__claim=None) | Q(transfer__payment__checkout=item.checkout_id)
    found = InboxItem.objects.filter(Q(pk=item.pk) | others, unused, status=InboxStatus.OPEN, checkout__isnull=False)
    return list(found.exclude(transfer__state=TransferState.ORPHANED).order_by("pk"))


def late_units(item: InboxItem) -> int:
    """Return the successor's total in base units: the expired one's payments and all late money."""
    transfers = Transfer.objects.filter(pk__in=_transfer_ids(late_items(item)))
    return sum(int(transfer.units) for transfer in transfers)


def accept_late(item: InboxItem, *, now: datetime) -> Checkout:
    """Create the successor of an item's expired checkout, paid by all its money; return it completed.

    Raises DecisionFailedError where the money is not enough, not final, or the checkout has a successor already.
    """
    items = _hold_late_items(item)
    transfers = _lock(_transfer_ids(items))
    expired = _lock_expired(item)
    if _transfer_ids(items) != {transfer.pk for transfer in transfers}:
        raise DecisionFailedError("Its first payment has been marked as refunded.")
    _refuse(expired, transfers)
    successor = _succeed(expired, now)
    _hand_over(expired, successor, transfers, now)
    recompute([successor], now=now)
    if successor.status != CheckoutStatus.COMPLETED:
        raise DecisionFailedError("The money is not enough for the price.")
    resolved = InboxItem.objects.filter(pk__in=[other.pk for other in items])
    resolved.update(status=InboxStatus.CREDITED, resolved_at=now)
    return successor


def _hold_late_items(item: InboxItem) -> list[InboxItem]:
    """Lock the late items, then read again: another decision may have changed them."""
    ids = {late.pk for late in late_items(item)}
    held = InboxItem.objects.select_for_update(of=("self",), no_key=True)
    list(held.filter(pk__in=ids).order_by("pk"))
    items = [late for late in late_items(item) if late.pk in ids]
    if item.pk not in {late.pk for late in items}:
        raise DecisionFailedError("The network reversed this transfer, or it has already been credited.")
    return items


def _standing_payments(checkouts: Collection[int | None]) -> QuerySet[Payment]:
    """Return the payments except those that a reorg removed and those that the merchant refunded."""
    paid = Payment.objects.filter(checkout__in=checkouts, checkout__refund_note__isnull=True)
    return paid.exclude(transfer__state=TransferState.ORPHANED)


def _transfer_ids(items: Sequence[InboxItem]) -> set[int]:
    paid = _standing_payments({item.checkout_id for item in items})
    ids = set(paid.values_list("transfer_id", flat=True))
    return ids | {item.transfer_id for item in items}


def _lock(ids: Collection[int]) -> list[Transfer]:
    rows = Transfer.objects.select_for_update(of=("self",), no_key=True)
    return list(rows.filter(pk__in=ids).order_by("pk"))


def _lock_expired(item: InboxItem) -> Checkout:
    expired = Checkout.objects.locked().filter(inbox_items=item.pk).first()
    if expired is None or expired.status != CheckoutStatus.EXPIRED:
        raise DecisionFailedError("No expired checkout matches this money.")
    if Checkout.objects.filter(replaces=expired).exists():
        raise DecisionFailedError("Late money was accepted for this checkout before.")
    return expired


def _refuse(expired: Checkout, transfers: Sequence[Transfer]) -> None:
    # Otherwise a fork could leave a successor that cannot be paid.
    if any(transfer.state != TransferState.CONFIRMED for transfer in transfers):
        raise DecisionFailedError("Some of this money is not final yet. Wait until it is.")
    if sum(int(transfer.units) for transfer in transfers) < needed_units(expired.amount):
        raise DecisionFailedError("The money is not enough for the price.")


def _succeed(expired: Checkout, now: datetime) -> Checkout:
    inherited = {name: getattr(expired, name) for name in _INHERITED}
    successor = Checkout.objects.create(
        public_id=new_id(f"chk_{Mode(expired.mode)}"),
        replaces=expired,
        # It is paid from the start, so it offers nothing.
        offers={},
        amount_received=Decimal(0),
        underpaid_reported=Decimal(0),
        deposit_nonce=secrets.token_bytes(32),
        expires_at=now,
        created_at=now,
        **inherited,
    )
    key = (expired.merchant_id, expired.mode, str(CheckoutStatus.PENDING))
    count(Counter({key: 1}))
    today = day_of(now)
    add_to_days([DayChange(expired.merchant_id, expired.mode, today, made=successor.pk)])
    return successor


def _hand_over(expired: Checkout, successor: Checkout, transfers: Sequence[Transfer], now: datetime) -> None:
    paid = set(_standing_payments([expired.pk]).values_list("transfer_id", flat=True))
    if not paid <= {transfer.pk for transfer in transfers}:
        # Rows that are not locked may change meanwhile.
        raise DecisionFailedError("More money arrived for it just now. Decide again.")
    handed = Payment.objects.filter(transfer__in=paid)
    handed.update(checkout=successor, handed_by=expired)
    fresh = [transfer for transfer in transfers if transfer.pk not in paid]
    reason = f"late for {expired.public_id}, accepted by a person"
    write_credits([(transfer, successor, reason) for transfer in fresh], now)
