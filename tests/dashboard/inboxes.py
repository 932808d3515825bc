"""What tests of the inbox's pages share: forms as their pages send them, and rows to look at."""

from typing import Any

from django.utils import timezone

from accounts.states import Mode
from checkouts.inbox.service import apply_decisions
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.models import BuyerReport, Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxReason, RescueVerdict
from tests.checkouts.inboxes import REFUND
from tests.checkouts.watcher import pay
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from wallets.models import Transfer

ITEM = "dashboard_inbox_item"
DECIDE = "dashboard_inbox_decide"


def decide(desk: Desk, item: InboxItem, act: InboxAct, **more: Any) -> Any:
    """Send the form as the page of now has it."""
    newest = item.decisions.order_by("-pk").values_list("pk", flat=True).first()
    more = {"seen": newest or 0} | more
    return desk.post(DECIDE, {"act": act, **more}, item_id=item.pk)


def carry_out() -> int:
    """Let the half minute pass."""
    return apply_decisions(now=timezone.now() + UNDO_SPAN)


def reverse_a_payment(desk: Desk) -> InboxItem:
    """An alarm about a completed checkout."""
    paid = make_checkout(desk.merchant, order_ref="shipped already")
    return InboxItem.objects.create(
        merchant=desk.merchant,
        mode=Mode.LIVE,
        transfer=pay(paid),
        checkout=paid,
        reason=InboxReason.REVERSED,
        explanation="a reorganisation removed this transfer",
        created_at=timezone.now(),
    )


def copy_of(transfer: Transfer, number: int) -> Transfer:
    """The same transfer in another transaction."""
    values = {
        field.attname: getattr(transfer, field.attname)
        for field in Transfer._meta.concrete_fields
        if not field.primary_key and field.attname != "public_id"
    }
    return Transfer.objects.create(**(values | {"tx_hash": f"0x{number:064x}"}))


def undo_last(desk: Desk, item: InboxItem) -> Any:
    """Undo the newest decision."""
    decision = InboxDecision.objects.order_by("-pk")[0]
    return desk.post("dashboard_inbox_undo", item_id=item.pk, decision_id=decision.pk)


def export(desk: Desk, query: str = "") -> str:
    """The CSV file."""
    answer = desk.get("dashboard_inbox_export", query)
    return b"".join(answer.streaming_content).decode()


def make_report(checkout: Checkout, tx_hash: str = REFUND) -> BuyerReport:
    """A buyer says that a transaction paid the checkout."""
    return BuyerReport.objects.create(
        merchant=checkout.merchant,
        mode=checkout.mode,
        checkout=checkout,
        tx_hash=tx_hash,
        chain="base",
        verdict=RescueVerdict.EXTRA,
        details={"case": "extra", "amount": "25.00 USDC"},
        reported_at=timezone.now(),
        looked_at=timezone.now(),
    )
