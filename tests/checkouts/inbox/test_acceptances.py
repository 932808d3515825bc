"""Short money accepted as full payment: which checkout completes, with what, when, and what is refused."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Sum

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, FeeEntry
from accounts.states import Mode
from checkouts.inbox.acceptances import accept_as_paid, apply_acceptances, short_money, undo_acceptance
from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.lifecycle.moves import expire
from checkouts.models import Acceptance, Checkout, DailyTotal
from checkouts.rows import credited_transfers
from checkouts.states import CheckoutStatus, InboxAct
from gateway.core.api.errors import ConflictError
from tests.checkouts.inboxes import DONE, LATER, decide, late_for, late_item
from tests.checkouts.schema import alter
from tests.checkouts.watcher import (
    DOLLAR,
    Watcher,
    attribute,
    events_of,
    fresh,
    inbox_of,
    last_body,
    pay,
    shown,
    status_of,
)
from tests.factories import checkout_counts, make_checkout, make_user
from tests.payouts.factories import refund_of
from tests.totals import differences
from wallets.transfers.returns import ReturnChange, change_returns, reserve_returns

pytestmark = pytest.mark.django_db

SHORT = Decimal(20)


def underpaid(**overrides: Any) -> Checkout:
    """A checkout of 25 USD that received 20."""
    checkout = make_checkout(**overrides)
    pay(checkout, 20 * DOLLAR)
    return fresh(checkout)


def expired(**overrides: Any) -> Checkout:
    """The same, and its time is over."""
    checkout = underpaid(**overrides)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    return fresh(checkout)


def accept(checkout: Checkout, amount: Decimal = SHORT, *, actor: Actor | None = None) -> Acceptance:
    """Accept at `LATER`, to take effect at `DONE`."""
    return accept_as_paid(checkout, amount=amount, now=LATER, actor=actor or Actor(make_user()))


def offered(checkout: Checkout) -> Decimal | None:
    """The sum that the checkout's page offers to accept."""
    held = fresh(checkout)
    found = short_money(held, credited_transfers([held.pk]).get(held.pk, []))
    return found.amount if found else None


def failure(checkout: Checkout) -> str:
    return checkout.acceptances.get().failure


def test_an_underpaid_checkout_completes_with_what_came() -> None:
    checkout = underpaid()
    accept(checkout)
    assert status_of(checkout) == CheckoutStatus.UNDERPAID
    assert apply_acceptances(now=DONE - timedelta(milliseconds=1)) == 0
    assert apply_acceptances(now=DONE) == 1
    assert events_of(checkout) == ["underpaid", "completed"]
    body = shown(checkout)
    assert (body["status"], body["exception"]) == ("completed", "underpaid")
    assert (body["amount"], body["amount_received"], body["amount_remaining"]) == ("25.00", "20.000000", "0.000000")
    assert body["payment"]["amount_crypto"] == "20.000000"
    assert last_body(checkout)["data"] == body
    assert checkout_counts(checkout.merchant) == {"completed": 1}


def test_an_expired_checkout_stays_expired_and_its_successor_completes_with_less_than_the_tolerance() -> None:
    checkout = expired(order_ref="o-1", metadata='{"cart": 7}')
    accept(checkout)
    assert apply_acceptances(now=DONE) == 1
    successor = Checkout.objects.get(replaces=checkout)
    assert (successor.status, successor.exception) == ("completed", "underpaid")
    assert (events_of(checkout), events_of(successor)) == (["underpaid", "expired"], ["completed"])
    body = last_body(successor)["data"]
    assert (body["replaces"], body["amount_received"]) == (checkout.public_id, "20.000000")
    assert (body["metadata"], body["references"]["order_ref"]) == ({"cart": 7}, "o-1")
    assert shown(checkout)["replaced_by"] == successor.public_id
    assert checkout_counts(checkout.merchant) == {"completed": 1, "expired": 1}


def volume() -> Decimal:
    """What the days' sums say was taken, which is what their rows say."""
    today = LATER.date()
    assert differences(since=today, until=today + timedelta(days=1)) == []
    total: Decimal = DailyTotal.objects.aggregate(sum=Sum("volume"))["sum"]
    return total


@pytest.mark.parametrize("make", [underpaid, expired])
def test_the_days_count_the_money_that_came_and_not_the_price(make: Callable[[], Checkout]) -> None:
    accept(make())
    assert apply_acceptances(now=DONE) == 1
    assert volume() == SHORT


def test_parts_of_a_cent_are_rounded_once_for_each_checkout() -> None:
    checkouts = [make_checkout() for _ in range(2)]
    for checkout in checkouts:
        pay(checkout, 20_005_000)
        accept(checkout, Decimal("20.005"))
    assert apply_acceptances(now=DONE) == 2
    assert volume() == Decimal("40.02")


def test_a_reversal_takes_out_of_its_day_what_was_counted() -> None:
    checkout = underpaid()
    accept(checkout)
    apply_acceptances(now=DONE)
    transfer, watcher = checkout.payments.get().transfer, Watcher(height=200)
    watcher.loses(transfer)
    attribute(now=DONE)
    assert (fresh(checkout).exception, volume()) == ("reversed", 0)
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute(now=DONE)
    assert (fresh(checkout).exception, volume()) == ("underpaid", SHORT)


def test_one_that_lost_a_payment_before_it_was_accepted_is_reversed_at_once_and_counts_nothing() -> None:
    checkout = make_checkout()
    pay(checkout, 20 * DOLLAR)
    lost = pay(checkout, 3 * DOLLAR)
    Watcher().loses(lost)
    attribute()
    accept(checkout)
    apply_acceptances(now=DONE)
    held = fresh(checkout)
    assert (held.status, held.exception, held.accepted_amount) == ("completed", "reversed", SHORT)
    assert volume() == 0


def test_late_money_that_comes_before_it_takes_effect_is_taken_too() -> None:
    checkout = expired()
    accept(checkout)
    late_for(checkout, 2 * DOLLAR)
    assert apply_acceptances(now=DONE) == 1
    successor = Checkout.objects.get(replaces=checkout)
    assert (successor.amount_received, successor.accepted_amount) == (22, 22)


def test_what_makes_it_whole_leaves_nothing_to_accept() -> None:
    checkout = expired()
    accept(checkout)
    late_for(checkout, 5 * DOLLAR)
    assert apply_acceptances(now=DONE) == 1
    successor = Checkout.objects.get(replaces=checkout)
    assert (successor.amount_received, successor.accepted_amount, successor.exception) == (25, None, "")


def test_undone_in_time_it_changes_nothing() -> None:
    checkout = underpaid()
    acceptance = accept(checkout)
    undo_acceptance(acceptance, now=LATER, actor=Actor(make_user()))
    assert apply_acceptances(now=DONE) == 0
    assert events_of(checkout) == ["underpaid"]
    with pytest.raises(ConflictError, match="already undone"):
        undo_acceptance(acceptance, now=LATER, actor=Actor(make_user()))
    accept(checkout)
    assert apply_acceptances(now=DONE) == 1


def test_what_took_effect_is_not_undone() -> None:
    acceptance = accept(underpaid())
    with pytest.raises(ConflictError, match="already taken effect"):
        undo_acceptance(acceptance, now=DONE, actor=Actor(make_user()))
    apply_acceptances(now=DONE)
    with pytest.raises(ConflictError, match="already taken effect"):
        undo_acceptance(acceptance, now=LATER, actor=Actor(make_user()))


def test_a_further_payment_completes_it_by_itself_and_the_acceptance_says_so() -> None:
    checkout = underpaid()
    accept(checkout)
    pay(checkout, 5 * DOLLAR)
    assert apply_acceptances(now=DONE) == 0
    assert failure(checkout) == "A further payment completed the checkout."
    assert (fresh(checkout).exception, fresh(checkout).accepted_amount) == ("", None)
    assert events_of(checkout) == ["underpaid", "completed"]


def test_a_further_payment_that_is_not_final_is_waited_for() -> None:
    checkout = underpaid()
    accept(checkout)
    Watcher(height=900).sees(checkout, 5 * DOLLAR)
    attribute()
    assert apply_acceptances(now=DONE) == 0
    assert "once the network confirms it" in failure(checkout)
    assert offered(checkout) is None


def test_a_further_payment_that_is_still_short_is_accepted_with_the_first() -> None:
    checkout = underpaid()
    accept(checkout)
    pay(checkout, 2 * DOLLAR)
    assert apply_acceptances(now=DONE) == 1
    assert (fresh(checkout).amount_received, fresh(checkout).accepted_amount) == (22, 22)


def test_what_comes_after_it_is_extra() -> None:
    checkout = underpaid()
    accept(checkout)
    apply_acceptances(now=DONE)
    pay(checkout, 5 * DOLLAR)
    assert inbox_of(checkout) == ["extra"]
    assert fresh(checkout).amount_received == SHORT


def test_a_reorg_before_it_takes_effect_stops_it() -> None:
    checkout = underpaid()
    accept(checkout)
    watcher = Watcher()
    watcher.loses(checkout.payments.get().transfer)
    attribute()
    assert apply_acceptances(now=DONE) == 0
    assert failure(checkout) == "The network reversed this money."


def test_part_of_it_that_a_reorg_took_stops_it() -> None:
    checkout = make_checkout()
    pay(checkout, 10 * DOLLAR)
    second = pay(checkout, 10 * DOLLAR)
    accept(checkout)
    Watcher().loses(second)
    attribute()
    assert apply_acceptances(now=DONE) == 0
    assert failure(checkout) == "The network reversed some of this money."
    assert offered(checkout) == 10


def test_a_reorg_after_it_reverses_it_and_its_return_restores_it() -> None:
    checkout = underpaid()
    transfer = checkout.payments.get().transfer
    accept(checkout)
    apply_acceptances(now=DONE)
    watcher = Watcher(height=900)
    watcher.loses(transfer)
    attribute()
    assert fresh(checkout).exception == "reversed"
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert fresh(checkout).exception == "underpaid"
    assert events_of(checkout) == ["underpaid", "completed", "reversed", "restored"]


def test_what_was_refunded_is_not_accepted() -> None:
    checkout = expired()
    accept(checkout)
    refund_of(checkout)
    assert apply_acceptances(now=DONE) == 0
    assert "that was accepted is gone" in failure(checkout)
    assert offered(checkout) is None
    with pytest.raises(ConflictError):
        accept(checkout)


@pytest.mark.parametrize("has_expired", [False, True])
def test_what_is_promised_back_is_not_accepted(has_expired: bool) -> None:
    checkout = expired() if has_expired else underpaid()
    accept(checkout)
    transfer = checkout.payments.get().transfer
    reserve_returns({transfer.pk: 5 * DOLLAR})
    assert apply_acceptances(now=DONE) == 0
    assert "A refund of this money was asked for." in failure(checkout)
    assert offered(checkout) is None
    change_returns([ReturnChange(transfer.pk, reserved=-5 * DOLLAR)])
    assert offered(checkout) == SHORT


def test_it_waits_for_the_undo_to_end_and_does_not_expire_meanwhile() -> None:
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(LATER)
    checkout = underpaid()
    accept(checkout)
    assert expire_due_checkouts(now=LATER) == 0
    assert apply_acceptances(now=DONE) == 1
    assert events_of(checkout) == ["underpaid", "completed"]


def test_undone_it_expires() -> None:
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(LATER)
    checkout = underpaid()
    undo_acceptance(accept(checkout), now=LATER, actor=Actor(make_user()))
    assert expire_due_checkouts(now=LATER) == 1


def test_one_that_expired_all_the_same_gets_a_successor() -> None:
    """A process of the release before knows nothing of acceptances, and expires it meanwhile."""
    checkout = underpaid()
    accept(checkout)
    with transaction.atomic():
        expire(list(Checkout.objects.locked()), now=LATER)
    assert apply_acceptances(now=DONE) == 1
    assert Checkout.objects.get(replaces=checkout).status == CheckoutStatus.COMPLETED


def test_an_expired_checkout_is_accepted_once_here_or_in_the_inbox() -> None:
    item = late_item(before=10 * DOLLAR, late=2 * DOLLAR)
    assert item.checkout is not None
    assert offered(item.checkout) is None
    checkout = expired()
    accept(checkout)
    late_for(checkout, 2 * DOLLAR)
    [late] = checkout.inbox_items.all()
    with pytest.raises(ConflictError, match="already being accepted"):
        decide(late, InboxAct.ACCEPT_LATE, accepted=Decimal(22))
    assert apply_acceptances(now=DONE) == 1
    assert Checkout.objects.filter(replaces=checkout).count() == 1


def test_late_money_that_is_being_accepted_is_not_accepted_again() -> None:
    item = late_item(before=20 * DOLLAR, late=2 * DOLLAR)
    assert item.checkout is not None
    decide(item, InboxAct.ACCEPT_LATE, accepted=Decimal(22))
    with pytest.raises(ConflictError):
        accept(item.checkout)
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (successor.accepted_amount, successor.exception) == (22, "underpaid")


@pytest.mark.parametrize("amount", [Decimal(19), Decimal(21), Decimal("20.000001")])
def test_only_the_sum_that_came_is_accepted(amount: Decimal) -> None:
    checkout = underpaid()
    with pytest.raises(ConflictError, match="changed since you opened the page"):
        accept(checkout, amount)
    assert not Acceptance.objects.exists()


@pytest.mark.parametrize("status", [s for s in CheckoutStatus if s != CheckoutStatus.UNDERPAID])
def test_a_checkout_without_short_money_has_none_to_accept(status: CheckoutStatus) -> None:
    checkout = make_checkout(status=status)
    assert offered(checkout) is None
    with pytest.raises(ConflictError):
        accept(checkout)


def test_the_fee_is_of_what_came() -> None:
    checkout = underpaid()
    accept(checkout)
    apply_acceptances(now=DONE)
    [entry] = FeeEntry.objects.filter(subject_id=checkout.public_id)
    assert entry.received == SHORT


def test_in_test_mode_it_is_the_same() -> None:
    checkout = underpaid(mode=Mode.TEST)
    accept(checkout)
    assert apply_acceptances(now=DONE) == 1
    assert fresh(checkout).exception == "underpaid"


def test_the_audit_log_has_who_and_what() -> None:
    checkout, person = underpaid(), make_user()
    undo_acceptance(accept(checkout, actor=Actor(person)), now=LATER, actor=Actor(person))
    accept(checkout, actor=Actor(person, address="203.0.113.9"))
    apply_acceptances(now=DONE)
    entries = list(AuditEntry.objects.filter(object_id=checkout.public_id).order_by("pk"))
    said = ["accepted", "acceptance_undone", "accepted", "acceptance_done"]
    assert [entry.action for entry in entries] == [f"checkout.{word}" for word in said]
    assert {entry.actor for entry in entries} == {person}
    assert entries[2].address == "203.0.113.9"
    assert entries[-1].after == {
        "amount": "20.00 USD",
        "price": "25.00 USD",
        "completed": checkout.public_id,
        "failure": "",
    }


def test_one_that_fails_unexpectedly_holds_up_no_other() -> None:
    broken, sound = underpaid(), underpaid()
    accept(broken)
    accept(sound)
    alter(f"ALTER TABLE checkouts_checkout ADD CONSTRAINT broken CHECK (id <> {broken.pk} OR status <> 'completed')")
    assert apply_acceptances(now=DONE) == 1
    assert status_of(broken) == CheckoutStatus.UNDERPAID
    alter("ALTER TABLE checkouts_checkout DROP CONSTRAINT broken")
    assert apply_acceptances(now=DONE) == 0
    assert apply_acceptances(now=DONE + timedelta(minutes=1)) == 1


def test_a_live_checkout_is_never_accepted_in_the_table() -> None:
    checkout = underpaid()
    with pytest.raises(IntegrityError, match="checkout_accepted_is_completed"), transaction.atomic():
        Checkout.objects.filter(pk=checkout.pk).update(accepted_amount=SHORT)
