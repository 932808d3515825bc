"""Many workers on one queue, and the watcher beside them."""

import threading
from functools import partial
from typing import Any

import pytest
from django.db import models

from checkouts.attribution import queue
from checkouts.attribution.queue import attribute_transfers
from checkouts.lifecycle import moves
from checkouts.models import Checkout, CheckoutQuerySet, Payment
from checkouts.rows import credited_transfers
from checkouts.states import CheckoutException, CheckoutStatus, InboxReason
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, credited, events_of, fresh, inbox_of, received
from tests.concurrency.races import (
    SECONDS,
    behind,
    claims_locking_nothing,
    crew,
    holding,
    together,
    wait_for_waiters,
    waiting_for_locks,
)
from tests.factories import checkout_counts, make_checkout, make_merchant
from wallets.models import Transfer, TransferClaim
from wallets.states import TransferState
from wallets.transfers.service import confirm_through, orphan_above

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LOCK_CHECKOUT = "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE"


def no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody read checkouts without locking them."""

    def unlocked(self: CheckoutQuerySet) -> CheckoutQuerySet:
        return self.order_by("pk")

    monkeypatch.setattr(CheckoutQuerySet, "locked", unlocked)
    manager = type(Checkout.objects)
    monkeypatch.setattr(manager, "locked", lambda self: self.get_queryset().locked())


def work(batch: int = 500) -> int:
    return attribute_transfers(now=SOON, batch=batch)


def test_many_workers_on_one_queue_credit_each_transfer_once():
    merchant = make_merchant()
    checkouts = [make_checkout(merchant) for _ in range(12)]
    watcher = Watcher()
    for share in (5, 15, 5):
        for checkout in checkouts:
            watcher.sees(checkout, share * DOLLAR)
    watcher.confirms()
    dealt_with = together(*[lambda: work(batch=4)] * 6)
    assert sum(dealt_with) == 36
    assert Payment.objects.count() == TransferClaim.objects.count() == 36
    assert checkout_counts(merchant) == {"completed": 12}
    for checkout in checkouts:
        assert received(checkout) == 25 * DOLLAR
        assert events_of(checkout)[-1] == "completed"
        assert events_of(checkout).count("completed") == 1


def test_workers_take_different_transfers_and_wait_for_no_taken_one():
    first, second = make_checkout(), make_checkout()
    watcher = Watcher()
    watcher.sees(first)
    watcher.sees(second)
    with crew() as threads, holding(LOCK_CHECKOUT, first.pk):
        slow = threads.start(lambda: queue._attribute(Transfer.objects.queued()[:1], now=SOON))
        wait_for_waiters(1)
        assert attribute() == 1
        assert (credited(first), credited(second)) == (0, 1)
    assert slow.result(SECONDS) == 1
    assert credited(first) == 1


def two_halves() -> Checkout:
    """A checkout whose price lies on the queue in two final halves."""
    checkout, watcher = make_checkout(), Watcher()
    for _ in range(2):
        watcher.sees(checkout, 12_500_000)
    watcher.confirms()
    return checkout


def one_half() -> int:
    return queue._attribute(Transfer.objects.queued()[:1], now=SOON)


def test_two_workers_with_half_the_price_each_complete_a_checkout_once():
    checkout = two_halves()
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[one_half] * 2) == [1, 1]
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert received(checkout) == 25 * DOLLAR
    assert events_of(checkout) == ["underpaid", "completed"]


def meet_after_reading(monkeypatch: pytest.MonkeyPatch, parties: int = 2) -> None:
    """Make workers write only after all of them have read: what their locks exist to prevent."""
    meeting = threading.Barrier(parties)

    def read_and_meet(ids: Any) -> Any:
        found = credited_transfers(ids)
        meeting.wait(SECONDS)
        return found

    monkeypatch.setattr(moves, "credited_transfers", read_and_meet)


def test_without_the_checkouts_lock_half_the_price_would_be_lost(monkeypatch):
    """The negative control of the test above."""
    checkout = two_halves()
    no_lock(monkeypatch)
    meet_after_reading(monkeypatch)
    together(one_half, one_half)
    assert credited(checkout) == 2
    assert received(checkout) == 12_500_000
    assert fresh(checkout).status == CheckoutStatus.UNDERPAID
    assert not Transfer.objects.queued().exists()


def two_whole() -> Checkout:
    """A checkout that was paid twice, both final, both on the queue."""
    checkout, watcher = make_checkout(), Watcher()
    watcher.sees(checkout)
    watcher.sees(checkout)
    watcher.confirms()
    return checkout


def test_two_workers_with_the_price_each_complete_a_checkout_once():
    checkout = two_whole()
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[one_half] * 2) == [1, 1]
    assert credited(checkout) == 1
    assert inbox_of(checkout) == [InboxReason.EXTRA]
    assert events_of(checkout) == ["completed"]
    assert checkout_counts(checkout.merchant) == {"completed": 1}


def test_without_the_checkouts_lock_a_completion_would_be_counted_twice(monkeypatch):
    """The negative control of the test above; the event's occurrence still keeps it from being told twice."""
    checkout = two_whole()
    no_lock(monkeypatch)
    meet_after_reading(monkeypatch)
    together(one_half, one_half)
    assert credited(checkout) == 2
    assert checkout_counts(checkout.merchant) == {"completed": 2, "pending": -1}
    assert events_of(checkout) == ["completed"]


def test_what_the_watcher_changes_meanwhile_comes_back_on_the_queue():
    checkout, watcher = make_checkout(), Watcher()
    transfer = watcher.sees(checkout)
    confirm = partial(confirm_through, "base", watcher.height, now=SOON)
    dealt_with, confirmed = behind(LOCK_CHECKOUT, checkout.pk, works=[work, confirm])
    assert dealt_with >= 1
    assert confirmed == 1
    attribute()
    transfer.refresh_from_db()
    assert transfer.queued_at is None
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_without_the_transfers_lock_a_confirmation_would_be_lost(monkeypatch):
    """The negative control of the test above: the worker takes a fact off the queue that it has not seen."""
    checkout = make_checkout()
    Watcher().sees(checkout)
    monkeypatch.setattr(models.QuerySet, "select_for_update", lambda self, *_, **__: self.all())

    def recompute_before_the_watcher_confirms(*arguments: Any, **named: Any) -> None:
        moves.recompute(*arguments, **named)
        together(lambda: confirm_through("base", 1_000, now=SOON))

    monkeypatch.setattr(queue, "recompute", recompute_before_the_watcher_confirms)
    with claims_locking_nothing():
        queue._attribute(Transfer.objects.queued()[:500], now=SOON)
    assert Transfer.objects.get().state == TransferState.CONFIRMED
    assert not Transfer.objects.queued().exists()
    assert fresh(checkout).status == CheckoutStatus.PROCESSING


def test_a_worker_does_not_wait_for_a_watcher_that_has_not_committed():
    waits, goes_on = make_checkout(), make_checkout()
    watcher = Watcher()
    held = watcher.sees(waits)
    watcher.sees(goes_on)
    with holding(
        "UPDATE wallets_transfer SET state = 'confirmed', confirmed_at = now(), queued_at = now() WHERE id = %s",
        held.pk,
    ):
        assert attribute() == 1
        assert (credited(waits), credited(goes_on)) == (0, 1)
    assert attribute() == 1
    assert fresh(waits).status == CheckoutStatus.COMPLETED


def test_a_transfer_orphaned_while_it_is_credited_counts_no_longer():
    checkout, watcher = make_checkout(), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    orphan = partial(orphan_above, "base", transfer.block_height - 1, now=SOON)
    _, orphaned = behind(LOCK_CHECKOUT, checkout.pk, works=[work, orphan])
    assert orphaned == 1
    attribute()
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert fresh(checkout).exception == CheckoutException.REVERSED
    assert received(checkout) == 0
    assert inbox_of(checkout) == [InboxReason.REVERSED]
    assert events_of(checkout) == ["completed", "reversed"]


def test_two_workers_that_hold_both_orphans_of_a_checkout_do_not_lock_each_other_out():
    """One writes an alert about a transfer whose row the other holds."""
    checkout = two_halves()
    attribute()
    orphan_above("base", 0, now=SOON)
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[one_half] * 2) == [1, 1]
    assert inbox_of(checkout) == [InboxReason.REVERSED] * 2
    assert received(checkout) == 0
    assert waiting_for_locks() == 0
