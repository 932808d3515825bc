"""Many workers, one wallet: money that several checkouts compete for, while buyers choose and checkouts expire."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from checkouts.attribution import queue
from checkouts.attribution.queue import attribute_transfers
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import AmountReservation, Checkout, InboxItem, Payment
from checkouts.reservations import choose_exact_amount
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.arrivals import Till, early, exact, payer_of
from tests.checkouts.watcher import SOON, Watcher, attribute, credited, events_of, received, status_of
from tests.concurrency.races import SECONDS, behind, crew, deadlocks, holding, together, wait_for_waiters
from tests.factories import NOON, checkout_counts
from wallets.models import Transfer, TransferClaim

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LOCK_CHECKOUT = "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE"
LATER = NOON + timedelta(hours=1)
SAME: dict[str, Any] = {"customer_ref": "ada", "product_ref": "beans|1kg"}


def one() -> int:
    """Deal with one transfer in a transaction of its own."""
    return queue._attribute(Transfer.objects.queued()[:1], now=SOON)


def two_of_a_kind(till: Till) -> tuple[Checkout, Checkout]:
    """Two interchangeable checkouts, the older one first."""
    older = till.checkout(suffix=100, **SAME, **early(5))
    return older, till.checkout(suffix=200, **SAME)


def race_for(older: Checkout) -> None:
    """Let two workers each judge one of two payments by what they see before either has credited anything."""
    assert behind(LOCK_CHECKOUT, older.pk, works=[one] * 2) == [1, 1]


def test_two_workers_with_a_round_payment_each_pay_two_interchangeable_checkouts():
    till = Till()
    older, younger = two_of_a_kind(till)
    transfers = [till.sees(), till.sees()]
    till.confirms()
    race_for(older)
    assert {payer_of(transfer) for transfer in transfers} == {older, younger}
    assert status_of(older) == status_of(younger) == CheckoutStatus.COMPLETED
    assert checkout_counts(till.merchant) == {"completed": 2}


def decide_without_looking_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was seen before the locks were taken stand."""
    monkeypatch.setattr(
        queue._Work, "_judge", lambda self, _around, arrivals: {a.pk: self._guessed[a.pk] for a in arrivals}
    )


def test_without_a_second_look_under_the_lock_one_checkout_would_be_paid_twice(monkeypatch):
    """The negative control of the test above."""
    till = Till()
    older, younger = two_of_a_kind(till)
    till.sees()
    till.sees()
    decide_without_looking_again(monkeypatch)
    race_for(older)
    assert (credited(older), credited(younger)) == (2, 0)


def test_two_exact_payments_for_one_checkout_are_a_credit_and_an_extra():
    till = Till()
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    till.sees(exact(checkout))
    till.confirms()
    race_for(checkout)
    assert credited(checkout) == 1
    assert InboxItem.objects.get().reason == InboxReason.EXTRA
    assert InboxItem.objects.get().checkout == checkout
    assert events_of(checkout) == ["completed"]


def test_without_a_second_look_the_extra_would_be_credited_to_a_final_checkout(monkeypatch):
    """The negative control of the test above."""
    till = Till()
    checkout = till.checkout(suffix=100)
    till.sees(exact(checkout))
    till.sees(exact(checkout))
    till.confirms()
    decide_without_looking_again(monkeypatch)
    race_for(checkout)
    assert credited(checkout) == 2


def test_a_payment_that_falls_to_a_checkout_somebody_holds_waits_for_the_next_pass():
    till = Till()
    older, younger = two_of_a_kind(till)
    first, second = till.sees(), till.sees()
    with crew() as threads, holding(LOCK_CHECKOUT, younger.pk):
        with holding(LOCK_CHECKOUT, older.pk):
            workers = [threads.start(one) for _ in range(2)]
            wait_for_waiters(2)
        # Both wanted the older one. Whoever came second finds the younger one held, and does not wait for it.
        dealt_with = [worker.result(SECONDS) for worker in workers]
    assert sorted(dealt_with) == [0, 1]
    assert Transfer.objects.queued().count() == 1
    assert attribute() == 1
    assert {payer_of(first), payer_of(second)} == {older, younger}


def test_whoever_expires_meanwhile_is_not_credited():
    till = Till()
    Watcher("ethereum").read_through(LATER)
    checkout = till.checkout(suffix=100, chains=("ethereum",))
    with crew() as threads, holding(LOCK_CHECKOUT, checkout.pk):
        transfer = till.sees(exact(checkout))
        worker = threads.start(attribute)
        wait_for_waiters(1)
        # The sweep passes over what is locked, and would have to wait for money that nobody has judged.
        assert expire_due_checkouts(now=LATER) == 0
    assert worker.result(SECONDS) == 1
    assert payer_of(transfer) == checkout


def test_choosing_expiring_and_attributing_at_once_credit_everything_exactly_once():
    till = Till()
    Watcher("ethereum").read_through(LATER)
    before = deadlocks()
    checkouts = [till.checkout(chains=("ethereum",)) for _ in range(12)]
    chosen: dict[int, AmountReservation] = {}

    def buyer(share: list[Checkout]) -> Callable[[], None]:
        def buy() -> None:
            for checkout in share:
                reservation = choose_exact_amount(checkout.pk, now=SOON)
                chosen[checkout.pk] = reservation
                till.sees(25_000_000 + reservation.suffix)

        return buy

    def work() -> None:
        for _ in range(8):
            attribute_transfers(now=SOON, batch=3)
            expire_due_checkouts(now=SOON)

    with crew() as threads:
        threads.together(buyer(checkouts[:6]), *[work] * 3)
        threads.together(buyer(checkouts[6:]), *[work] * 3)
    till.confirms()
    attribute()
    assert deadlocks() == before
    assert not Transfer.objects.queued().exists()
    assert Payment.objects.count() == TransferClaim.objects.count() == 12
    assert {c.pk for c in checkouts} == set(chosen)
    for checkout in checkouts:
        assert received(checkout) == 25_000_000 + chosen[checkout.pk].suffix
        assert events_of(checkout) == ["completed"]


def test_many_workers_on_one_wallet_credit_each_payment_once():
    till = Till()
    before = deadlocks()
    many = [till.checkout(suffix=100 * n, **SAME) for n in range(1, 9)]
    others = [till.checkout("40.00", suffix=100 * n) for n in range(1, 9)]
    for checkout in others:
        till.sees()
        till.sees(exact(checkout))
    till.confirms()
    together(*[lambda: attribute_transfers(now=SOON, batch=2) for _ in range(6)])
    attribute()
    assert deadlocks() == before
    assert [credited(checkout) for checkout in (*many, *others)] == [1] * 16
    assert checkout_counts(till.merchant) == {"completed": 16}
    assert not InboxItem.objects.exists()
