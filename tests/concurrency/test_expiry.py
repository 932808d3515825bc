"""The sweep that expires checkouts, and money that arrives at the same moment."""

from datetime import timedelta
from typing import Any

import pytest

from checkouts.lifecycle import expiry
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.watcher import Watcher, attribute, credited, events_of, fresh, inbox_of
from tests.concurrency.races import SECONDS, crew, holding, together, wait_for_waiters
from tests.factories import NOON, checkout_counts, make_checkout, make_merchant
from webhooks.models import EventCounter

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LATER = NOON + timedelta(hours=1)
LOCK_CHECKOUT = "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE"
LOCK_COUNTER = "SELECT FROM webhooks_eventcounter WHERE merchant_id = %s FOR UPDATE"


def make_due() -> Checkout:
    """A checkout whose time is over, on chains that are read past it."""
    for chain in ("base", "polygon"):
        Watcher(chain).read_through(LATER)
    return make_checkout()


def sweep() -> int:
    return expire_due_checkouts(now=LATER)


def test_a_sweep_passes_over_a_checkout_that_is_being_credited():
    checkout, idle = make_due(), make_due()
    with holding(LOCK_CHECKOUT, checkout.pk):
        assert sweep() == 1
        assert fresh(checkout).status == CheckoutStatus.PENDING
        assert fresh(idle).status == CheckoutStatus.EXPIRED
    assert sweep() == 1


def arrives_after_the_first_look(monkeypatch: pytest.MonkeyPatch, checkout: Checkout, *, looks_again: bool) -> None:
    """Let money be seen, and attributed, just after the sweep has looked for what is due."""
    real = expiry._due_ids
    looks: list[list[int]] = []

    def look(now: Any, **which: Any) -> list[int]:
        if looks and not looks_again:
            return looks[0]
        looks.append(real(now, **which))
        if len(looks) == 1:
            together(lambda: Watcher().sees(checkout))
        return looks[-1]

    monkeypatch.setattr(expiry, "_due_ids", look)


def test_money_that_arrives_while_a_sweep_looks_is_not_missed(monkeypatch):
    checkout = make_due()
    arrives_after_the_first_look(monkeypatch, checkout, looks_again=True)
    assert sweep() == 0
    attribute()
    assert fresh(checkout).status == CheckoutStatus.PROCESSING
    assert not events_of(checkout)


def test_without_the_second_look_that_money_would_be_late(monkeypatch):
    """The negative control of the test above."""
    checkout = make_due()
    arrives_after_the_first_look(monkeypatch, checkout, looks_again=False)
    assert expiry._expire_some(0, now=LATER) == 1
    attribute()
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    assert inbox_of(checkout) == [InboxReason.LATE_OUTAGE]


def test_money_that_waits_for_a_sweep_to_end_is_judged_by_what_it_left():
    checkout = make_due()
    EventCounter.objects.create(merchant=checkout.merchant, mode="live")
    # The event counter is a sweep's last lock: it has moved the checkout and not committed yet.
    with crew() as threads:
        with holding(LOCK_COUNTER, checkout.merchant_id):
            sweeping = threads.start(sweep)
            wait_for_waiters(1)
            Watcher().sees(checkout)
            crediting = threads.start(attribute)
            wait_for_waiters(2)
        assert sweeping.result(SECONDS) == 1
        assert crediting.result(SECONDS) == 1
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    assert inbox_of(checkout) == [InboxReason.LATE_OUTAGE]
    assert credited(checkout) == 0
    assert events_of(checkout) == ["expired"]


def test_many_sweeps_expire_each_checkout_once():
    merchant = make_merchant()
    make_due()
    checkouts = [make_checkout(merchant) for _ in range(20)]
    counts = together(*[sweep] * 4)
    assert sum(counts) == 21
    assert checkout_counts(merchant) == {"expired": 20}
    assert [events_of(checkout) for checkout in checkouts] == [["expired"]] * 20


def test_sweeps_and_workers_at_once_lose_no_money_and_expire_the_rest():
    merchant = make_merchant()
    make_due()
    checkouts = [make_checkout(merchant) for _ in range(16)]
    paid, idle = checkouts[::2], checkouts[1::2]
    watcher = Watcher()
    for checkout in paid:
        watcher.sees(checkout)
    watcher.confirms()
    together(*[sweep, lambda: attribute(batch=3)] * 3)
    sweep()
    assert {fresh(checkout).status for checkout in paid} == {CheckoutStatus.COMPLETED}
    assert {fresh(checkout).status for checkout in idle} == {CheckoutStatus.EXPIRED}
    assert checkout_counts(merchant) == {"completed": 8, "expired": 8}
    for checkout in paid:
        assert events_of(checkout) == ["completed"]
    for checkout in idle:
        assert events_of(checkout) == ["expired"]
