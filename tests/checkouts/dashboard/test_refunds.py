"""Noting on the page of a checkout that its buyer got money back: when, by whom, once, and what follows from it."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from checkouts.lifecycle.refunds import note_refund, refundable
from checkouts.models import Checkout, RefundNote
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.dashboard.opened import SENT_BACK, page_of
from tests.checkouts.factories import make_completed, make_expired, make_overpaid, make_underpaid, move
from tests.checkouts.inboxes import late_item
from tests.checkouts.watcher import DOLLAR, fresh, shown_bytes
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db


def note(desk: Desk, checkout: Checkout, text: str = SENT_BACK) -> Any:
    sent = {"refund_tx": text}
    return desk.post("dashboard_note_refund", sent, checkout_id=checkout.public_id)


def part_paid(**overrides: Any) -> Checkout:
    """Twenty of 49 dollars came, and it expired."""
    return move(make_underpaid(**overrides), CheckoutStatus.EXPIRED)


@pytest.mark.parametrize(("make", "amount"), [(make_overpaid, 5), (part_paid, 20)])
def test_a_refund_is_noted_and_changes_nothing_else(make: Any, amount: int, admin: Desk) -> None:
    checkout = make(merchant=admin.merchant)
    before = shown_bytes(checkout)
    form = admin.get("dashboard_note_refund", checkout_id=checkout.public_id).text
    assert f"{amount}.00 USD" in form
    assert "Note refund" in page_of(admin, checkout)
    assert note(admin, checkout).status_code == 302
    page = page_of(admin, checkout)
    assert "Refund noted." in page
    assert f"{SENT_BACK}, noted by" in page
    assert admin.url("dashboard_note_refund", checkout_id=checkout.public_id) not in page
    assert shown_bytes(fresh(checkout)) == before
    entry = AuditEntry.objects.get(action="checkout.refund_noted")
    assert (entry.actor, entry.object_id) == (admin.user, checkout.public_id)
    assert entry.after == {"refund_tx": SENT_BACK, "amount": f"{amount}.00 USD"}
    assert "Refund recorded" in admin.get("dashboard_audit_log").text


def test_a_refund_is_noted_once(owner: Desk) -> None:
    checkout = make_overpaid(merchant=owner.merchant)
    note(owner, checkout)
    assert note(owner, checkout, "0x" + "cd" * 32).status_code == 302
    with pytest.raises(ConflictError, match="already recorded"):
        note_refund(checkout, SENT_BACK, actor=owner.user, address=None, now=timezone.now())
    assert RefundNote.objects.get().tx_hash == SENT_BACK
    assert AuditEntry.objects.filter(action="checkout.refund_noted").count() == 1


@pytest.mark.parametrize("make", [make_completed, make_expired, make_underpaid])
def test_without_money_to_send_back_there_is_no_refund(make: Any, owner: Desk) -> None:
    checkout = make(merchant=owner.merchant)
    assert refundable(checkout) == Decimal(0)
    assert "Note refund" not in page_of(owner, checkout)
    assert note(owner, checkout).status_code == 302
    assert not RefundNote.objects.exists()


@pytest.mark.parametrize("text", ["", "coffee", "0x12"])
def test_what_names_no_transaction_is_refused(text: str, owner: Desk) -> None:
    checkout = make_overpaid(merchant=owner.merchant)
    assert note(owner, checkout, text).status_code == 422
    assert not RefundNote.objects.exists()


def test_the_payment_itself_is_no_refund(owner: Desk) -> None:
    checkout = late_item(before=10 * DOLLAR, merchant=owner.merchant).checkout
    assert checkout is not None
    paid = checkout.payments.get().transfer.tx_hash
    answer = note(owner, checkout, paid)
    assert answer.status_code == 422
    assert "brought the money" in answer.text


def test_a_viewer_notes_nothing(viewer: Desk) -> None:
    checkout = make_overpaid(merchant=viewer.merchant)
    assert "Note refund" not in page_of(viewer, checkout)
    assert note(viewer, checkout).status_code == 403


def test_another_merchants_checkout_does_not_exist(owner: Desk) -> None:
    assert note(owner, make_overpaid()).status_code == 404
