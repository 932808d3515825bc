"""Refunds that people noted before payouts existed become payouts, once, and promise no money a second time."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from checkouts.models import Checkout, InboxDecision, InboxItem, RefundNote
from checkouts.states import InboxAct, InboxStatus
from payouts.errors import AmountNotRefundableError
from payouts.following.check import check_payouts
from payouts.lifecycle.noted import import_notes
from payouts.models import Payout
from payouts.selectors import payout_named, payout_objects
from payouts.states import PayoutKind, PayoutStatus
from tests.checkouts.inboxes import LATER, ask_back, extra_item, late_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import Desk
from tests.factories import NOON, make_user
from tests.payouts.factories import make_paid, promised, refund_of

pytestmark = pytest.mark.django_db
SENT_BACK = "0x" + "ab" * 32


def note(checkout: Checkout) -> RefundNote:
    """A note of the release before."""
    return RefundNote.objects.create(checkout=checkout, tx_hash=SENT_BACK, author=make_user(), noted_at=NOON)


def mark(item: InboxItem) -> InboxDecision:
    """An item that a person of the release before marked as refunded."""
    item.status, item.resolved_at = InboxStatus.REFUNDED, LATER
    item.save()
    times: dict[str, Any] = {"decided_at": LATER, "due_at": LATER, "done_at": LATER}
    return InboxDecision.objects.create(
        item=item, act=InboxAct.REFUNDED, refund_tx=SENT_BACK, actor=make_user(), **times
    )


def test_the_overpaid_part_that_was_noted_is_a_paid_refund() -> None:
    checkout = make_paid(units=30 * DOLLAR)
    noted = note(checkout)
    assert (import_notes(), import_notes()) == (1, 0)
    payout = Payout.objects.get()
    assert (payout.kind, payout.status, payout.units) == (PayoutKind.REFUND, PayoutStatus.PAID, 5 * DOLLAR)
    assert (payout.imported_tx, payout.paid_at, payout.requested_by) == (SENT_BACK, NOON, noted.author)
    assert (payout.address, payout.movement) == ("", None)
    assert promised(checkout) == (5 * DOLLAR, 5 * DOLLAR)
    assert check_payouts() == 0
    # The price can be sent back as well, and no more.
    assert refund_of(checkout).payout.units == 25 * DOLLAR


def test_money_of_before_expiry_that_was_noted_is_not_sent_back_again() -> None:
    checkout = late_item(before=10 * DOLLAR).checkout
    assert checkout is not None
    note(checkout)
    assert import_notes() == 1
    assert promised(checkout) == (10 * DOLLAR, 10 * DOLLAR)
    with pytest.raises(AmountNotRefundableError):
        refund_of(checkout, transfer=checkout.payments.get().transfer)


def test_an_item_that_was_marked_as_refunded_has_its_refund() -> None:
    item = extra_item(7 * DOLLAR)
    mark(item)
    assert (import_notes(), import_notes()) == (1, 0)
    payout = Payout.objects.get()
    assert (payout.units, payout.sources.get().transfer) == (7 * DOLLAR, item.transfer)
    assert check_payouts() == 0
    with pytest.raises(AmountNotRefundableError):
        ask_back(item)


def test_a_mark_that_was_undone_is_none() -> None:
    decision = mark(extra_item())
    InboxDecision.objects.filter(pk=decision.pk).update(done_at=None, undone_at=LATER)
    assert import_notes() == 0


def test_a_note_of_money_that_is_promised_back_already_takes_what_is_left() -> None:
    checkout = make_paid(units=30 * DOLLAR)
    refund_of(checkout, 28 * DOLLAR)
    note(checkout)
    assert import_notes() == 1
    assert promised(checkout) == (30 * DOLLAR, 2 * DOLLAR)
    assert check_payouts() == 0


def test_pages_and_the_api_show_its_hash_and_that_a_person_noted_it(owner: Desk) -> None:
    checkout = make_paid(owner.merchant, 30 * DOLLAR)
    note(checkout)
    import_notes()
    payout = Payout.objects.get()
    page = owner.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert f"{SENT_BACK}, noted by a person" in page
    assert SENT_BACK in owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert owner.get("dashboard_payouts", "?status=done").status_code == 200
    found = payout_named(payout.merchant_id, owner.mode, payout.public_id)
    [shown] = payout_objects([found], shows_claims=False)
    assert (shown["status"], shown["transaction"]["tx_hash"]) == ("paid", SENT_BACK)


def test_the_migration_knows_the_models_of_its_moment() -> None:
    note(make_paid(units=30 * DOLLAR))
    executor = MigrationExecutor(connection)
    state = executor.loader.project_state(("payouts", "0006_noted_refunds"))
    assert import_notes(state.apps.get_model) == 1
    assert Payout.objects.get().imported_tx == SENT_BACK
