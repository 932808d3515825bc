"""Late money that a person accepts, and the checkout that takes it."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.service import apply_decisions, undo_decision
from checkouts.inbox.successors import late_units
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxDecision, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from payouts.lifecycle.service import cancel_payout
from tests.checkouts.inboxes import (
    DONE,
    LATER,
    ask_back,
    decide,
    extra_item,
    give_back,
    late_for,
    late_item,
    other_checkout,
)
from tests.checkouts.schema import alter
from tests.checkouts.watcher import (
    DOLLAR,
    SOON,
    Watcher,
    attribute,
    credited,
    events_of,
    last_body,
    pay,
    received,
    shown,
    status_of,
)
from tests.contract.client import client_of
from tests.factories import checkout_counts, make_checkout, make_merchant, make_user
from wallets.models import Transfer
from wallets.states import TransferState
from wallets.transfers.returns import reserve_returns

pytestmark = pytest.mark.django_db


def test_what_is_resolved_without_a_decision_of_its_own_is_decided_no_more():
    item = late_item(late=10 * DOLLAR)
    assert item.checkout is not None
    late_for(item.checkout, 15 * DOLLAR)
    swept = InboxItem.objects.exclude(pk=item.pk).get()
    decide(item, InboxAct.ACCEPT_LATE)
    with pytest.raises(ConflictError, match="already being accepted"):
        decide(swept, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    with pytest.raises(ConflictError, match="already resolved"):
        decide(swept, InboxAct.DISMISS)


def test_money_that_the_network_took_back_is_not_in_the_way_of_what_came_later():
    item = late_item(before=10 * DOLLAR)
    assert item.checkout is not None
    [paid] = Payment.objects.filter(checkout=item.checkout)
    gone = late_for(item.checkout, 5 * DOLLAR)
    orphaned = {"state": TransferState.ORPHANED, "orphaned_at": LATER}
    Transfer.objects.filter(pk__in=[paid.transfer_id, gone.pk]).update(**orphaned)
    assert late_units(item) == 25 * DOLLAR
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (credited(successor), successor.exception) == (1, "")
    assert credited(item.checkout) == 1
    assert InboxItem.objects.get(transfer=gone).status == InboxStatus.OPEN


def test_accepting_what_the_network_took_back_fails_in_words():
    item = late_item()
    decide(item, InboxAct.ACCEPT_LATE)
    Watcher().loses(item.transfer)
    assert apply_decisions(now=DONE) == 0
    assert "reversed this transfer" in item.decisions.get().failure


def test_accepted_late_money_completes_a_successor_and_the_expired_checkout_stays_expired():
    item = late_item()
    expired = item.checkout
    assert expired is not None
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=expired)
    assert successor.status == CheckoutStatus.COMPLETED
    assert events_of(successor) == ["completed"]
    assert last_body(successor)["data"]["replaces"] == expired.public_id
    assert shown(successor)["metadata"] == shown(expired)["metadata"]
    assert status_of(expired) == CheckoutStatus.EXPIRED
    assert events_of(expired) == ["expired"]
    assert checkout_counts(item.merchant) == {"completed": 1, "expired": 1}


def test_a_successor_takes_what_came_in_time_too():
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    assert late_units(item) == 25 * DOLLAR
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (credited(successor), received(successor)) == (2, 25 * DOLLAR)


def test_a_large_sum_that_was_accepted_waits_for_no_second_node():
    item = late_item(before=6_000 * DOLLAR, late=6_000 * DOLLAR, amount=12_000)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    assert Checkout.objects.get(replaces=item.checkout).status == CheckoutStatus.COMPLETED


def test_the_expired_checkout_reads_as_before_and_both_name_each_other():
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    expired = item.checkout
    assert expired is not None
    seller = client_of(item.merchant, Mode(expired.mode))
    before = seller.get(f"/checkouts/{expired.public_id}").body
    assert (before["status"], before["exception"]) == ("expired", "underpaid")
    assert before["amount_received"] == "10.000000"
    assert len(before["transfers"]) == 1
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    after = seller.get(f"/checkouts/{expired.public_id}").body
    successor = seller.get(f"/checkouts/{after['replaced_by']}").body
    assert json.dumps(after | {"replaced_by": None}) == json.dumps(before)
    assert (successor["replaces"], successor["replaced_by"]) == (before["id"], None)
    assert successor["transfers"][0] == before["transfers"][0]
    assert len(successor["transfers"]) == 2
    assert successor["amount_received"] == "25.000000"


def test_what_was_handed_over_and_is_lost_is_lost_to_both():
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    expired = item.checkout
    assert expired is not None
    [paid] = Payment.objects.filter(checkout=expired)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    Watcher().loses(paid.transfer)
    attribute()
    successor = Checkout.objects.get(replaces=expired)
    assert received(expired) == received(successor) == 0
    assert successor.exception == "reversed"


def test_a_successor_takes_everything_that_came_late():
    item = late_item(late=10 * DOLLAR)
    assert item.checkout is not None
    late_for(item.checkout, 15 * DOLLAR)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    assert received(Checkout.objects.get(replaces=item.checkout)) == 25 * DOLLAR
    assert not InboxItem.objects.filter(status=InboxStatus.OPEN).exists()


def test_late_money_that_falls_short_makes_no_successor():
    item = late_item(late=24 * DOLLAR)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "not enough" in item.decisions.get().failure
    assert not Checkout.objects.filter(replaces__isnull=False).exists()
    assert checkout_counts(item.merchant) == {"expired": 1}


def test_late_money_is_accepted_once_it_is_final():
    checkout = make_checkout()
    with transaction.atomic():
        expire(list(Checkout.objects.locked()), now=LATER)
    late_for(checkout, 25 * DOLLAR, confirmed=False)
    item = InboxItem.objects.get()
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "final yet" in item.decisions.get().failure


def test_a_checkout_has_one_successor_at_most():
    item = late_item()
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    assert item.checkout is not None
    late_for(item.checkout, 25 * DOLLAR)
    again = InboxItem.objects.get(status=InboxStatus.OPEN)
    decide(again, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "accepted for this checkout before" in again.decisions.get().failure
    assert Checkout.objects.filter(replaces=item.checkout).count() == 1


def test_a_successor_is_outside_the_rule_of_one_checkout_an_order_ref():
    item = late_item()
    assert item.checkout is not None
    Checkout.objects.filter(pk=item.checkout.pk).update(order_ref="o-1", creation_ref="o-1")
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (successor.order_ref, successor.creation_ref) == ("o-1", None)


def test_expiry_leaves_successors_alone():
    item = late_item()
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    assert expire_due_checkouts(now=DONE + timedelta(days=2)) == 0
    assert make_merchant() != item.merchant


def test_a_credit_takes_effect_after_half_a_minute_and_not_before():
    item = extra_item()
    wanted = other_checkout(item)
    decide(item, InboxAct.CREDIT, checkout=wanted)
    assert apply_decisions(now=DONE - timedelta(seconds=1)) == 0
    assert status_of(wanted) == CheckoutStatus.PENDING
    assert apply_decisions(now=DONE) == 1
    assert status_of(wanted) == CheckoutStatus.COMPLETED
    assert events_of(wanted) == ["completed"]
    item.refresh_from_db()
    assert (item.status, item.resolved_at) == (InboxStatus.CREDITED, DONE)
    assert apply_decisions(now=DONE) == 0


def test_a_decision_can_be_undone_until_it_takes_effect_and_the_item_is_free_again():
    item, person = extra_item(), make_user()
    decision = decide(item, InboxAct.DISMISS)
    undo_decision(decision, now=DONE - timedelta(seconds=1), actor=Actor(person))
    assert apply_decisions(now=DONE) == 0
    item.refresh_from_db()
    assert item.status == InboxStatus.OPEN
    decide(item, InboxAct.DISMISS)


def test_what_has_taken_effect_cannot_be_undone():
    decision = decide(extra_item(), InboxAct.DISMISS)
    with pytest.raises(ConflictError):
        undo_decision(decision, now=DONE, actor=Actor(make_user()))
    apply_decisions(now=DONE)
    with pytest.raises(ConflictError):
        undo_decision(decision, now=LATER, actor=Actor(make_user()))


def test_the_second_of_two_people_is_told_who_was_first():
    item = extra_item()
    decide(item, InboxAct.DISMISS, actor=Actor(make_user("ada@shop.example")))
    with pytest.raises(ConflictError, match=r"ada@shop\.example decided .*: dismiss"):
        decide(item, InboxAct.CREDIT, checkout=other_checkout(item))
    apply_decisions(now=DONE)
    with pytest.raises(ConflictError):
        decide(item, InboxAct.DISMISS)


def test_without_the_constraint_two_people_would_both_decide():
    item = extra_item()
    alter("DROP INDEX inbox_item_has_one_standing_decision")
    decide(item, InboxAct.DISMISS)
    decide(item, InboxAct.DISMISS)
    assert item.decisions.count() == 2


def test_a_checkout_that_ended_meanwhile_is_not_credited_and_the_item_opens_again():
    item = extra_item()
    wanted = other_checkout(item)
    decision = decide(item, InboxAct.CREDIT, checkout=wanted)
    pay(wanted)
    assert apply_decisions(now=DONE) == 0
    decision.refresh_from_db()
    assert decision.failed_at == DONE
    assert "now completed" in decision.failure
    assert credited(wanted) == 1
    item.refresh_from_db()
    assert item.status == InboxStatus.OPEN
    decide(item, InboxAct.DISMISS)


def test_a_checkout_that_is_covered_meanwhile_is_not_paid_twice_and_is_credited_once_it_asks_again():
    item = extra_item()
    wanted, watcher = other_checkout(item), Watcher(height=900)
    decision = decide(item, InboxAct.CREDIT, checkout=wanted)
    own = watcher.sees(wanted)
    attribute()
    assert apply_decisions(now=DONE) == 0
    decision.refresh_from_db()
    assert "now processing" in decision.failure
    assert (credited(wanted), received(wanted)) == (1, 25 * DOLLAR)
    item.refresh_from_db()
    assert item.status == InboxStatus.OPEN
    watcher.loses(own)
    attribute()
    decide(item, InboxAct.CREDIT, checkout=wanted)
    assert apply_decisions(now=DONE) == 1
    assert status_of(wanted) == CheckoutStatus.COMPLETED


def test_a_transfer_that_the_network_took_back_is_not_credited():
    item = extra_item()
    decide(item, InboxAct.CREDIT, checkout=other_checkout(item))
    Watcher().loses(item.transfer)
    assert apply_decisions(now=DONE) == 0
    assert "reversed this transfer" in item.decisions.get().failure


def test_one_transfer_in_two_items_is_credited_once():
    item = extra_item()
    twin = InboxItem.objects.create(
        merchant=item.merchant,
        mode=item.mode,
        transfer=item.transfer,
        reason=InboxReason.UNMATCHED,
        explanation="",
        created_at=SOON,
    )
    first, second = other_checkout(item), other_checkout(item)
    decide(item, InboxAct.CREDIT, checkout=first)
    decide(twin, InboxAct.CREDIT, checkout=second)
    assert apply_decisions(now=DONE) == 1
    assert (credited(first), credited(second)) == (1, 0)


def test_another_merchants_or_another_modes_checkout_is_refused():
    item = extra_item()
    for stranger in (make_checkout(), other_checkout(item, mode="test")):
        with pytest.raises(InvalidRequestError):
            decide(item, InboxAct.CREDIT, checkout=stranger)
    assert not InboxDecision.objects.exists()


@pytest.mark.parametrize(("act", "more"), [(InboxAct.CREDIT, {}), (InboxAct.REFUNDED, {}), (InboxAct.ACCEPT_LATE, {})])
def test_what_does_not_fit_the_item_is_refused(act, more):
    with pytest.raises(InvalidRequestError):
        decide(extra_item(), act, **more)


def test_money_that_a_refund_sent_back_is_refunded_and_moves_nothing():
    item = extra_item()
    payments = Payment.objects.count()
    give_back(item)
    item.refresh_from_db()
    assert (item.status, item.resolved_at) == (InboxStatus.REFUNDED, DONE)
    assert not item.decisions.exists()
    assert Payment.objects.count() == payments


@pytest.mark.parametrize("act", [InboxAct.CREDIT, InboxAct.DISMISS])
def test_while_a_refund_promises_it_nothing_else_is_decided_and_once_that_ends_it_is_open_again(act):
    item = extra_item()
    more: dict[str, Any] = {"checkout": other_checkout(item)} if act == InboxAct.CREDIT else {}
    refund = ask_back(item)
    with pytest.raises(ConflictError, match="A refund of this money was asked for"):
        decide(item, act, **more)
    cancel_payout(refund, now=LATER)
    decide(item, act, **more)
    assert apply_decisions(now=DONE) == 1


def test_what_belongs_to_another_act_is_not_kept():
    item = extra_item()
    decision = decide(item, InboxAct.DISMISS, checkout=other_checkout(item))
    assert decision.checkout is None


def test_whoever_looked_before_the_last_decision_is_told():
    item = extra_item()
    first = decide(item, InboxAct.DISMISS, seen=0)
    undo_decision(first, now=LATER, actor=Actor(make_user()))
    with pytest.raises(ConflictError, match="undone since"):
        decide(item, InboxAct.DISMISS, seen=0)
    decide(item, InboxAct.DISMISS, seen=first.pk)


def test_nothing_is_undone_twice():
    item = extra_item()
    decision = decide(item, InboxAct.DISMISS)
    undo_decision(decision, now=LATER, actor=Actor(make_user()))
    with pytest.raises(ConflictError, match="already undone this"):
        undo_decision(decision, now=LATER, actor=Actor(make_user()))


@pytest.mark.parametrize("act", [InboxAct.CREDIT, InboxAct.DISMISS])
def test_money_that_is_promised_back_is_neither_credited_nor_dismissed(act: InboxAct) -> None:
    item = extra_item()
    more: dict[str, Any] = {"checkout": other_checkout(item)} if act == InboxAct.CREDIT else {}
    decision = decide(item, act, **more)
    undo_decision(decision, now=LATER, actor=Actor(make_user()))
    reserve_returns({item.transfer_id: DOLLAR})
    with pytest.raises(ConflictError, match="A refund of this money was asked for"):
        decide(item, act, **more)


def test_late_money_that_a_refund_reserves_is_accepted_once_that_is_cancelled() -> None:
    item = late_item()
    asked = ask_back(item, 5 * DOLLAR)
    with pytest.raises(ConflictError, match="A refund of this money was asked for"):
        decide(item, InboxAct.ACCEPT_LATE)
    cancel_payout(asked, now=LATER)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    assert Checkout.objects.get(replaces=item.checkout).status == CheckoutStatus.COMPLETED


def test_late_money_that_is_reserved_while_it_is_being_accepted_gets_no_successor() -> None:
    item = late_item()
    decide(item, InboxAct.ACCEPT_LATE)
    reserve_returns({item.transfer_id: DOLLAR})
    assert apply_decisions(now=DONE) == 0
    assert "A refund of this money was asked for." in item.decisions.get().failure
    assert not Checkout.objects.filter(replaces=item.checkout).exists()


def test_money_that_is_promised_back_meanwhile_is_not_credited() -> None:
    item = extra_item()
    decide(item, InboxAct.CREDIT, checkout=other_checkout(item))
    reserve_returns({item.transfer_id: DOLLAR})
    assert apply_decisions(now=DONE) == 0
    assert "A refund of this money was asked for." in item.decisions.get().failure


def test_a_decision_about_what_was_resolved_meanwhile_changes_nothing():
    item = extra_item()
    decide(item, InboxAct.DISMISS)
    InboxItem.objects.update(status=InboxStatus.CREDITED)
    assert apply_decisions(now=DONE) == 0
    assert item.decisions.get().failure == "In the meantime this item was credited."
    item.refresh_from_db()
    assert item.status == InboxStatus.CREDITED


def test_an_item_that_nobody_foresaw_holds_up_no_other():
    broken, sound = extra_item(), late_item()
    decide(broken, InboxAct.CREDIT, checkout=other_checkout(broken))
    decide(sound, InboxAct.ACCEPT_LATE)
    alter("ALTER TABLE checkouts_payment ADD CONSTRAINT broken CHECK (reason <> 'credited by a person')")
    assert apply_decisions(now=DONE) == 1
    broken.refresh_from_db()
    assert broken.status == InboxStatus.OPEN
    alter("ALTER TABLE checkouts_payment DROP CONSTRAINT broken")
    assert apply_decisions(now=DONE) == 0
    assert apply_decisions(now=DONE + timedelta(minutes=1)) == 1


def test_everything_is_in_the_audit_log_with_who_and_from_where():
    item, person = extra_item(), make_user()
    decision = decide(item, InboxAct.DISMISS, actor=Actor(person, address="203.0.113.9"))
    undo_decision(decision, now=LATER, actor=Actor(person, address="203.0.113.9"))
    decide(item, InboxAct.DISMISS, actor=Actor(person, address="203.0.113.9"))
    apply_decisions(now=DONE)
    entries = AuditEntry.objects.filter(action__startswith="inbox").order_by("pk")
    assert [entry.action for entry in entries] == ["inbox.decided", "inbox.undone", "inbox.decided", "inbox.done"]
    assert {entry.actor for entry in entries} == {person}
    assert entries[0].address == "203.0.113.9"


def test_a_credit_without_its_checkout_is_refused_by_the_table():
    item = extra_item()
    with pytest.raises(IntegrityError), transaction.atomic():
        InboxDecision.objects.create(item=item, act=InboxAct.CREDIT, decided_at=SOON, due_at=SOON)
