"""A checkout's open inbox items, for the checkout's page: the money and the possible acts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Prefetch

from checkouts.inbox.evidence import late_money
from checkouts.inbox.rows import ItemRow, item_row, pending
from checkouts.inbox.service import acts_of
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxReason, InboxStatus

_MOST_SHOWN: Final = 5
# Crediting needs a choice of another checkout, which the item's own page offers.
_LABELS: Final = (
    (InboxAct.ACCEPT_LATE, "Accept late payment…"),
    (InboxAct.REFUNDED, "Mark as refunded…"),
    (InboxAct.DISMISS, "Dismiss…"),
)


@dataclass(frozen=True, slots=True)
class WaitingMoney:
    """An open inbox item of a checkout; with `is_lost`, money that its network took back. `acts` are values and labels; with `leads`, the first is the recommended one.

    `doing` describes a decision that can still be undone; then there are no acts. `seen` is the newest decision's key.
    """

    item_id: int
    amount: str
    network: str
    came_at: datetime
    why: str
    is_lost: bool
    acts: tuple[tuple[str, str], ...]
    leads: bool
    doing: str
    seen: int


def waiting_money(checkout: Checkout, *, now: datetime) -> tuple[WaitingMoney, ...]:
    """Return a checkout's open inbox items, the newest first, at most five."""
    items = InboxItem.objects.filter(checkout=checkout, status=InboxStatus.OPEN)
    decided = InboxDecision.objects.select_related("actor", "checkout")
    found = items.select_related("transfer__payment", "checkout").prefetch_related(
        Prefetch("decisions", decided.order_by("-pk"), to_attr="newest_first")
    )
    return tuple(_waiting(item, now) for item in found.order_by("-pk")[:_MOST_SHOWN])


def _why(row: ItemRow) -> str:
    """Return a sentence on why the money waits; for late money, only how late it came."""
    explanation = row.explanation or f"{row.words.short}."
    return f"It came {explanation}" if explanation[0].isdigit() else explanation


def _waiting(item: InboxItem, now: datetime) -> WaitingMoney:
    decisions: list[InboxDecision] = getattr(item, "newest_first", [])
    row, waits = item_row(item), pending(decisions, now=now)
    allowed = set() if waits else set(acts_of(item))
    late = late_money(item) if InboxAct.ACCEPT_LATE in allowed else None
    leads = late is not None and late.is_enough
    if not leads:
        allowed.discard(InboxAct.ACCEPT_LATE)
    is_lost = item.reason == InboxReason.REVERSED
    return WaitingMoney(
        item_id=item.pk,
        amount=f"{row.amount} {row.token}",
        network=row.chain_title,
        came_at=row.came_at,
        why=row.words.meaning if is_lost else _why(row),
        is_lost=is_lost,
        acts=tuple((act.value, label) for act, label in _LABELS if act in allowed),
        leads=leads,
        doing=waits.what if waits else "",
        seen=decisions[0].pk if decisions else 0,
    )
