"""A merchant's rule: money that is certain is decided by itself. Each decision can be undone for half a minute, as a person's."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from checkouts.attribution.labels import memos_in, references_in
from checkouts.inbox.evidence import JUNK
from checkouts.inbox.rows import Deed, Story
from checkouts.inbox.service import decide_item
from checkouts.inbox.stories import stories_of
from checkouts.inbox.successors import LATE_KINDS, awaits_others
from checkouts.models import AmountReservation, BuyerReport, Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from wallets.states import TransferState
from wallets.transfers.doubts import doubted_of

RECENT: Final = timedelta(hours=1)
"""The rule decides about items that came, or that a buyer named, in this time. What is older waits for a person."""

_AT_ONCE: Final = 100
_REASONS: Final = (*LATE_KINDS, InboxReason.UNMATCHED, InboxReason.AMBIGUOUS)


def decide_certain(*, now: datetime) -> int:
    """Decide about certain money of merchants who want that; return how many decisions were made. Safe to run concurrently."""
    wanting = Merchant.objects.filter(decides_certain=True, closed_at=None)
    merchants = list(wanting.values_list("pk", flat=True))
    by_owner: dict[tuple[int, str], list[InboxItem]] = defaultdict(list)
    for item in _candidates(merchants, now) if merchants else ():
        by_owner[item.merchant_id, item.mode].append(item)
    return sum(_decide(items, now) for items in by_owner.values())


def _candidates(merchants: Sequence[int], now: datetime) -> list[InboxItem]:
    """Return the merchants' recent items that nobody decided about, not even to undo it.

    Money that a halted chain may have lost is a person's to decide.
    """
    since = now - RECENT
    decided = InboxDecision.objects.filter(item=OuterRef("pk"))
    reports = BuyerReport.objects.filter(closed_at=None, looked_at__gte=since).exclude(verdict__in=JUNK)
    named = reports.filter(merchant=OuterRef("merchant"), mode=OuterRef("mode"), tx_hash=OuterRef("transfer__tx_hash"))
    found = InboxItem.objects.filter(
        ~Exists(decided),
        Q(created_at__gte=since) | Exists(named),
        status=InboxStatus.OPEN,
        reason__in=_REASONS,
        merchant__in=merchants,
        transfer__state=TransferState.CONFIRMED,
    )
    items = list(found.select_related("transfer", "checkout", "merchant").order_by("-pk")[:_AT_ONCE])
    doubted = doubted_of([item.transfer_id for item in items]) if items else set()
    return [item for item in items if item.transfer_id not in doubted]


def _decide(items: Sequence[InboxItem], now: datetime) -> int:
    stories, made = stories_of(items, now=now), 0
    for item in items:
        deed = certain_deed(item, stories[item.pk])
        if deed is None or (deed.act == InboxAct.ACCEPT_LATE and awaits_others(item, now=now)):
            continue
        checkout = stories[item.pk].checkout if deed.act == InboxAct.CREDIT else None
        try:
            decide_item(item, act=deed.act, checkout=checkout, seen=0, now=now, actor=SYSTEM)
        except (ConflictError, InvalidRequestError):
            # A person was faster, or it changed since it was read.
            continue
        made += 1
    return made


def certain_deed(item: InboxItem, story: Story) -> Deed | None:
    """Return the act for money that is certain and enough; None for any other.

    Certain is what names its checkout by the checkout's own address or by a label, and an exact amount whose transaction
    the checkout's buyer named too. Money for a cancelled checkout is a person's to decide: the merchant ended it.
    """
    checkout = story.checkout
    if checkout is None or not story.deeds or checkout.cancelled_at is not None:
        return None
    deed = story.deeds[0]
    if deed.accepted:
        # Less than the price, or an expired checkout that only its buyer named.
        return None
    is_named = (story.is_exact and story.is_named) or _names(item, checkout)
    return deed if is_named else None


def _names(item: InboxItem, checkout: Checkout) -> bool:
    """Return whether the transfer itself names the checkout: by its deposit address, or by a reference or code."""
    if item.checkout_id != checkout.pk or item.reason not in LATE_KINDS:
        return False
    if item.transfer.deposit_id is not None:
        return True
    labels = [str(label) for label in item.transfer.labels]
    named = Q(reference__in=references_in(labels)) | Q(memo__in=memos_in(labels))
    return AmountReservation.objects.filter(named, checkout=checkout).exists()
