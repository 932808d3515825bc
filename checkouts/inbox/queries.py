"""The inbox's queries: tabs, counts, and checkouts that an item may be for."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.amounts import MAX_AMOUNT
from checkouts.inbox.evidence import reported_transfers
from checkouts.models import AmountReservation, Checkout, CheckoutQuerySet, InboxDecision, InboxItem
from checkouts.search import matching_keys
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from gateway.core.money import from_units, to_units

MOST_COUNTED: Final = 1_000
"""Counting stops here: beyond it an exact number is not needed."""

MOST_NEAR: Final = 20
MOST_ALARMS: Final = 20
MOST_NAMED: Final = 50
_MOST_FOUND: Final = 10
# The distance from its amount within which a price is near: a tenth, or for small amounts an exchange's usual fee.
_NEAR_SHARE: Final = Decimal("0.1")
_NEAR_LEAST: Final = Decimal(5)

_WAITING = Q(undone_at=None, failed_at=None, done_at=None)


class InboxTab(StrEnum):
    """The inbox's tabs."""

    OPEN = "open"
    # Decided, but not in effect yet.
    DOING = "doing"
    RESOLVED = "resolved"


def _waiting() -> Exists:
    return Exists(InboxDecision.objects.filter(_WAITING, item=OuterRef("pk")))


def items_of(seat: Seat) -> QuerySet[InboxItem]:
    """Return a merchant's items of one mode."""
    return InboxItem.objects.filter(merchant=seat.merchant, mode=seat.mode)


def items_in(seat: Seat, tab: InboxTab, reason: InboxReason | None = None) -> QuerySet[InboxItem]:
    """Return the items of a tab, with the data of their rows."""
    items = items_of(seat)
    if reason is not None:
        items = items.filter(reason=reason)
    if tab is InboxTab.RESOLVED:
        items = items.exclude(status=InboxStatus.OPEN)
    else:
        waiting = _waiting() if tab is InboxTab.DOING else ~_waiting()
        items = items.filter(waiting, status=InboxStatus.OPEN)
    return with_rows(items)


def with_rows(items: QuerySet[InboxItem]) -> QuerySet[InboxItem]:
    """Return items with the data of their rows; `standing` has the decision that is in force, if any."""
    return items.select_related("transfer__payment__checkout", "checkout").prefetch_related(
        Prefetch(
            "decisions",
            InboxDecision.objects.filter(undone_at=None, failed_at=None).select_related("actor", "checkout"),
            to_attr="standing",
        )
    )


def alarms(seat: Seat) -> list[InboxItem]:
    """Return the newest reversal alerts that are open."""
    found = items_in(seat, InboxTab.OPEN, InboxReason.REVERSED)
    return list(found.order_by("-pk")[:MOST_ALARMS])


def named_items(seat: Seat) -> list[InboxItem]:
    """Return the newest open items whose transaction a buyer named on a checkout's page, without alerts."""
    found = items_in(seat, InboxTab.OPEN).exclude(reason=InboxReason.REVERSED)
    named = reported_transfers(seat.merchant.pk, seat.mode)
    return list(found.filter(transfer__in=named.values("pk")).order_by("-pk")[:MOST_NAMED])


def open_count(seat: Seat) -> int:
    """Return the number of open items, at most MOST_COUNTED."""
    waiting = items_of(seat).filter(~_waiting(), status=InboxStatus.OPEN)
    return waiting.order_by()[:MOST_COUNTED].count()


def doing_count(seat: Seat) -> int:
    """Return the number of decisions that can still be undone."""
    decisions = InboxDecision.objects.filter(_WAITING, item__merchant=seat.merchant, item__mode=seat.mode)
    return decisions.count()


def alarm_count(seat: Seat) -> int:
    """Return the number of open reversal alerts."""
    return open_alarms(seat.merchant.pk, seat.mode).order_by()[:MOST_COUNTED].count()


def open_alarms(merchant_id: int, mode: Mode) -> QuerySet[InboxItem]:
    """Return the open reversal alerts about which nothing was decided."""
    found = InboxItem.objects.filter(merchant=merchant_id, mode=mode, status=InboxStatus.OPEN)
    return found.filter(~_waiting(), reason=InboxReason.REVERSED)


def item_of(seat: Seat, item_id: int) -> InboxItem | None:
    """Return one item with its transfer and probable checkout; None for another merchant's or the other mode's."""
    items = items_of(seat).select_related("transfer__payment", "checkout", "merchant")
    return items.filter(pk=item_id).first()


def decisions_of(item: InboxItem) -> list[InboxDecision]:
    """Return all decisions about an item, newest first."""
    decisions = item.decisions.select_related("actor", "checkout", "undone_by")
    return list(decisions.order_by("-pk"))


def checkouts_of(seat: Seat) -> CheckoutQuerySet:
    """Return a merchant's checkouts of one mode."""
    return Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)


def named_checkouts(seat: Seat, public_ids: Iterable[str]) -> dict[str, Checkout]:
    """Return checkouts by their ids."""
    found = checkouts_of(seat).filter(public_id__in=list(public_ids))
    return {checkout.public_id: checkout for checkout in found}


def near_checkouts(seat: Seat, units: int, *, but: Iterable[int] = ()) -> list[Checkout]:
    """Return checkouts that ask for about `units` base units, nearest first, without those in `but`.

    For a partly paid one, what is missing counts.
    """
    amount = from_units(units)
    if amount > 2 * MAX_AMOUNT:
        # No price is near. On a test network, amounts may exceed what a column holds.
        return []
    span = max(amount * _NEAR_SHARE, _NEAR_LEAST)
    # One in `processing` is paid, and asks for nothing more.
    asking = [CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID]
    live = checkouts_of(seat).filter(status__in=asking).exclude(pk__in=list(but))
    # Each query uses an index, however many checkouts are live.
    above = live.filter(amount__gte=amount, amount__lte=amount + span)
    below = live.filter(amount__lt=amount, amount__gte=amount - span)
    partly = live.filter(amount_received__gt=0).annotate(missing=F("amount") - F("amount_received"))
    found = [
        *above.order_by("amount", "expires_at")[:MOST_NEAR],
        *below.order_by("-amount", "-expires_at")[:MOST_NEAR],
        *partly.filter(missing__range=(amount - span, amount + span))[:MOST_NEAR],
    ]
    once = {checkout.pk: checkout for checkout in found}
    return sorted(once.values(), key=lambda c: _distance(c, amount))[:MOST_NEAR]


def _distance(checkout: Checkout, amount: Decimal) -> tuple[Decimal, int]:
    missing = checkout.amount - checkout.amount_received
    return min(abs(checkout.amount - amount), abs(missing - amount)), -checkout.pk


def find_checkouts(seat: Seat, text: str) -> list[Checkout]:
    """Search checkouts by any text that names one. Open ones come first; final ones are listed too, with why they cannot be chosen."""
    found = checkouts_of(seat).filter(pk__in=matching_keys(seat, text))
    newest = sorted(found, key=lambda checkout: (checkout.is_final, -checkout.pk))
    return newest[:_MOST_FOUND]


def asked_amounts(checkouts: Sequence[Checkout]) -> dict[int, list[int]]:
    """Return, by checkout, the exact amounts in base units that its buyer was shown and that it still holds."""
    rows = AmountReservation.objects.filter(checkout__in=checkouts, released_at=None)
    asked: dict[int, list[int]] = {}
    for row in rows.order_by("pk"):
        asked.setdefault(row.checkout_id, []).append(to_units(row.price) + row.suffix)
    return asked
