"""Somebody cancels a checkout, and at the same moment it is paid."""

from collections.abc import Callable

import pytest

from accounts.models import AuditEntry
from checkouts.lifecycle import endings
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxReason
from gateway.core.api.errors import ConflictError
from tests.checkouts.watcher import SOON, Watcher, attribute, credited, events_of, fresh, inbox_of
from tests.concurrency.races import SECONDS, behind, crew, deadlocks, holding, together, wait_for_waiters
from tests.factories import checkout_counts, make_checkout, make_merchant
from webhooks.models import EventCounter

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LOCK_CHECKOUT = "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE"
LOCK_COUNTER = "SELECT FROM webhooks_eventcounter WHERE merchant_id = %s FOR UPDATE"


def cancel(checkout: Checkout) -> Callable[[], str]:
    """A call that cancels a checkout and tells how that went."""

    def go() -> str:
        try:
            is_first = cancel_checkout(checkout.pk, now=SOON)
        except ConflictError:
            return "refused"
        return "cancelled" if is_first else "repeated"

    return go


def cancelled_while_money_is_recorded() -> tuple[Checkout, str]:
    """Let the watcher record the price while a call to cancel waits for the checkout's lock."""
    checkout = make_checkout()
    with crew() as threads:
        with holding(LOCK_CHECKOUT, checkout.pk):
            cancelling = threads.start(cancel(checkout))
            wait_for_waiters(1)
            Watcher().sees(checkout)
        outcome = cancelling.result(SECONDS)
    attribute()
    return checkout, outcome


def test_money_that_is_recorded_while_a_cancel_waits_is_credited():
    checkout, outcome = cancelled_while_money_is_recorded()
    assert outcome == "refused"
    assert fresh(checkout).status == CheckoutStatus.PROCESSING
    assert (credited(checkout), inbox_of(checkout)) == (1, [])


def test_without_the_look_under_the_lock_that_money_would_be_late(monkeypatch):
    """The negative control of the test above: who looks before it has the lock sees nothing."""
    monkeypatch.setattr(endings, "reason_against_cancelling", lambda checkout: "")
    checkout, outcome = cancelled_while_money_is_recorded()
    assert outcome == "cancelled"
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    assert (credited(checkout), inbox_of(checkout)) == (0, [InboxReason.LATE])


def test_a_cancel_that_waits_for_a_completion_is_refused():
    checkout = make_checkout()
    EventCounter.objects.create(merchant=checkout.merchant, mode="live")
    watcher = Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    # The event counter is a worker's last lock: it has completed the checkout and not committed yet.
    crediting, cancelling = behind(LOCK_COUNTER, checkout.merchant_id, works=[attribute, cancel(checkout)])
    assert crediting == 1
    assert cancelling == "refused"
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert fresh(checkout).cancelled_at is None
    assert events_of(checkout) == ["completed"]


def test_money_that_waits_for_a_cancel_to_end_is_late_and_not_lost():
    checkout = make_checkout()
    EventCounter.objects.create(merchant=checkout.merchant, mode="live")
    with crew() as threads:
        with holding(LOCK_COUNTER, checkout.merchant_id):
            cancelling = threads.start(cancel(checkout))
            wait_for_waiters(1)
            Watcher().sees(checkout)
            crediting = threads.start(attribute)
            wait_for_waiters(2)
        assert cancelling.result(SECONDS) == "cancelled"
        assert crediting.result(SECONDS) == 1
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    assert (credited(checkout), inbox_of(checkout)) == (0, [InboxReason.LATE])
    assert events_of(checkout) == ["expired"]


def test_many_who_cancel_one_checkout_cancel_it_once():
    checkout = make_checkout()
    outcomes = together(*[cancel(checkout)] * 8)
    assert sorted(outcomes) == ["cancelled", *["repeated"] * 7]
    assert events_of(checkout) == ["expired"]
    assert AuditEntry.objects.filter(action="checkout.cancelled").count() == 1
    assert checkout_counts(checkout.merchant) == {"expired": 1}


def test_cancels_and_workers_at_once_lose_no_money():
    merchant, before = make_merchant(), deadlocks()
    checkouts = [make_checkout(merchant) for _ in range(12)]

    def pay() -> None:
        watcher = Watcher()
        for checkout in checkouts:
            watcher.sees(checkout)
        watcher.confirms()

    together(pay, *[lambda: attribute(batch=3)] * 3, *[cancel(checkout) for checkout in checkouts])
    attribute()
    for checkout in checkouts:
        found = fresh(checkout)
        is_cancelled = found.cancelled_at is not None
        assert found.status == ("expired" if is_cancelled else "completed")
        assert events_of(checkout) == [found.status]
        assert credited(checkout) == (0 if is_cancelled else 1)
        assert inbox_of(checkout) == ([InboxReason.LATE] if is_cancelled else [])
    assert Payment.objects.count() + InboxItem.objects.count() == len(checkouts)
    assert deadlocks() == before
