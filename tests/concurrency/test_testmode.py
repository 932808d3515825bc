"""Several players of test mode."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout, Payment, TestStep
from checkouts.scenarios import steps_of
from checkouts.states import CheckoutStatus
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import play_due_steps
from tests.checkouts.watcher import events_of, fresh
from tests.concurrency.races import holding, together
from tests.factories import NOON, checkout_counts, make_checkout, make_merchant
from wallets.models import Transfer

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

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
    with holding("SELECT FROM checkouts_teststep WHERE id = %s FOR UPDATE", first.pk):
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
