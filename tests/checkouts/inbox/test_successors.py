"""Late money that a person accepts, and the checkout that takes it."""

import json
from datetime import timedelta

import pytest
from django.db import transaction

from accounts.states import Mode
from checkouts.inbox.service import apply_decisions, late_units
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxAct, InboxStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.inboxes import DONE, LATER, decide, late_for, late_item
from tests.checkouts.watcher import (
    DOLLAR,
    Watcher,
    attribute,
    credited,
    events_of,
    last_body,
    received,
    shown,
    status_of,
)
from tests.contract.client import client_of
from tests.factories import checkout_counts, make_checkout, make_merchant
from wallets.models import Transfer
from wallets.states import TransferState

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
