"""Several players of test mode."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import models

from accounts.models import Merchant
from accounts.states import Mode
from checkouts import testmode
from checkouts.models import Checkout, Payment, TestStep
from checkouts.scenarios import steps_of
from checkouts.selectors import checkout_row
from checkouts.states import CheckoutStatus
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import advance, play_due_steps
from gateway.core.api.errors import ConflictError
from tests.checkouts.watcher import events_of, fresh
from tests.concurrency.races import SECONDS, behind, deadlocks, holding, together
from tests.factories import NOON, checkout_counts, make_checkout, make_merchant
from wallets.models import Transfer

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

LOCK_STEP = "SELECT FROM checkouts_teststep WHERE id = %s FOR UPDATE"
LATER = NOON + timedelta(seconds=60)


def make_trial(scenario: Scenario, merchant: Merchant) -> Checkout:
    """A test checkout with the steps of its scenario."""
    checkout = make_checkout(merchant, mode=Mode.TEST, amount=Decimal("25.00"))
    TestStep.objects.bulk_create(
        TestStep(checkout=checkout, kind=step.kind, due_at=step.due_at) for step in steps_of(scenario, NOON)
    )
    return checkout


def play() -> int:
    return play_due_steps(now=LATER)


def test_many_players_play_each_step_once():
    merchant = make_merchant()
    checkouts = [make_trial(Scenario.COMPLETED, merchant) for _ in range(20)]
    played = together(*[play] * 5)
    assert sum(played) == 20
    assert Transfer.objects.count() == Payment.objects.count() == 20
    assert checkout_counts(merchant, Mode.TEST) == {"completed": 20}
    assert [events_of(checkout) for checkout in checkouts] == [["completed"]] * 20


def test_a_step_waits_for_the_one_before_it_whoever_plays_that():
    checkout = make_trial(Scenario.REORG, make_merchant())
    first = TestStep.objects.filter(checkout=checkout).order_by("pk")[0]
    with holding(LOCK_STEP, first.pk):
        assert play() == 0
    assert play() == 5
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert events_of(checkout) == ["completed", "reversed", "restored"]


def test_many_players_play_scenarios_of_several_steps_in_their_order():
    merchant = make_merchant()
    reorganised = [make_trial(Scenario.REORG, merchant) for _ in range(6)]
    late = [make_trial(Scenario.LATE, merchant) for _ in range(6)]
    played = together(*[play] * 4)
    assert sum(played) + play() == 6 * 5 + 6 * 2
    assert {fresh(checkout).status for checkout in reorganised} == {"completed"}
    assert {fresh(checkout).status for checkout in late} == {"expired"}
    assert checkout_counts(merchant, Mode.TEST) == {"completed": 6, "expired": 6}


def advancing(checkout: Checkout, *, now: datetime = NOON) -> Callable[[], bool]:
    """A call that advances a checkout by one step and tells whether there was one."""
    row = checkout_row(checkout.merchant_id, Mode.TEST, checkout.public_id)

    def go() -> bool:
        try:
            advance(row, 1, now=now)
        except ConflictError:
            return False
        return True

    return go


def test_two_who_advance_at_once_play_one_step_each():
    checkout = make_trial(Scenario.TOPPED_UP, make_merchant())
    first = TestStep.objects.filter(checkout=checkout).order_by("pk")[0]
    assert behind(LOCK_STEP, first.pk, works=[advancing(checkout)] * 2) == [True, True]
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert events_of(checkout) == ["underpaid", "completed"]
    assert sorted(Transfer.objects.values_list("units", flat=True)) == [12_500_000, 12_500_000]


def test_without_the_steps_lock_two_would_play_one_step(monkeypatch):
    """The negative control of the test above: half the price is paid twice, and the rest is still to come."""
    checkout = make_trial(Scenario.TOPPED_UP, make_merchant())
    monkeypatch.setattr(models.QuerySet, "select_for_update", lambda self, *_, **__: self.all())
    both, play_step = threading.Barrier(2), testmode._play

    def meet_and_play(step: TestStep, now: datetime) -> None:
        both.wait(SECONDS)
        play_step(step, now)

    monkeypatch.setattr(testmode, "_play", meet_and_play)
    assert together(*[lambda: testmode._plays_next(checkout, NOON)] * 2) == [True, True]
    assert Transfer.objects.count() == 2
    assert TestStep.objects.filter(done_at=None).count() == 1


def test_of_many_who_advance_as_many_find_a_step_as_there_are():
    checkout, before = make_trial(Scenario.REORG, make_merchant()), deadlocks()
    assert sum(together(*[advancing(checkout)] * 8)) == 5
    assert events_of(checkout) == ["completed", "reversed", "restored"]
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert deadlocks() == before


def test_the_clock_and_those_who_advance_play_each_step_once_and_in_order():
    merchant, before = make_merchant(), deadlocks()
    checkouts = [make_trial(scenario, merchant) for scenario in (Scenario.REORG, Scenario.TOPPED_UP, Scenario.REVERSED)]
    together(*[play] * 2, *[advancing(checkout, now=LATER) for checkout in checkouts for _ in range(2)])
    play_due_steps(now=LATER + timedelta(hours=1))
    reorganised, topped_up, gone = map(events_of, checkouts)
    assert reorganised == ["completed", "reversed", "restored"]
    assert topped_up == ["underpaid", "completed"]
    assert gone == ["completed", "reversed"]
    assert Transfer.objects.count() == 4
    assert deadlocks() == before


def test_an_advance_waits_for_the_worker_that_credits_its_money():
    checkout = make_trial(Scenario.COMPLETED, make_merchant())
    # A worker holds the checkout that it credits.
    assert behind(
        "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE", checkout.pk, works=[advancing(checkout)]
    ) == [True]
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_many_who_end_the_time_to_pay_expire_it_once():
    checkout = make_trial(Scenario.EXPIRED, make_merchant())
    advancing(checkout)()
    assert events_of(checkout) == ["expired"]
    unpaid = make_trial(Scenario.UNDERPAID, checkout.merchant)
    advancing(unpaid)()
    assert any(together(*[advancing(unpaid)] * 4))
    assert events_of(unpaid) == ["underpaid", "expired"]
