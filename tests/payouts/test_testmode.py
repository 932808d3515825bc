"""Payouts of test mode: what each scenario plays, step by step."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.states import Mode
from payouts.following.service import wrong_amounts
from payouts.lifecycle.service import Terms, request_payout
from payouts.models import Payout, PayoutStep
from payouts.states import PayoutException, PayoutScenario, PayoutStatus
from payouts.testmode import TICK, plan_outflow, plan_outflows, play_outflows
from tests.factories import NOON, make_merchant
from tests.payouts.factories import BUYER, USDC, approved, make_payout
from tests.wallets.days import make_watched
from wallets.models import WatchedMovement

pytestmark = pytest.mark.django_db

APPROVED, SENDING, PAID = PayoutStatus.APPROVED, PayoutStatus.SENDING, PayoutStatus.PAID


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    settings.MOVEMENT_CONSUMERS = []


def handed_out(scenario: PayoutScenario) -> Payout:
    """A test payout that a wallet of test mode was asked to pay."""
    merchant = make_merchant()
    terms = Terms(address=BUYER, **USDC)
    payout = approved(request_payout(merchant, mode=Mode.TEST, amount=Decimal(5), terms=terms, now=NOON).payout)
    plan_outflow(payout, make_watched(merchant, mode=Mode.TEST), scenario=scenario, now=NOON)
    return payout


def told(payout: Payout, ticks: int) -> tuple[str, str]:
    """What a payout is so many ticks after it was handed out."""
    play_outflows(now=NOON + TICK * ticks)
    payout.refresh_from_db()
    return payout.status, payout.exception


def test_it_is_seen_then_paid() -> None:
    payout = handed_out(PayoutScenario.PAID)
    assert play_outflows(now=NOON + TICK - timedelta(milliseconds=1)) == 0
    assert [told(payout, ticks) for ticks in (1, 2)] == [(SENDING, ""), (PAID, "")]
    assert WatchedMovement.objects.get().mode == Mode.TEST


def test_it_is_never_paid() -> None:
    payout = handed_out(PayoutScenario.NEVER)
    assert (told(payout, 100), WatchedMovement.objects.exists()) == ((APPROVED, ""), False)


def test_it_is_paid_in_another_amount() -> None:
    payout = handed_out(PayoutScenario.WRONG_AMOUNT)
    assert told(payout, 2) == (APPROVED, "")
    [less] = wrong_amounts(payout)
    assert less.units == 4_950_000


def test_a_reorg_takes_it_back_before_and_after_it_was_final() -> None:
    payout = handed_out(PayoutScenario.REORG)
    assert told(payout, 1) == (SENDING, "")
    assert (told(payout, 2), payout.movement) == ((SENDING, ""), None)
    assert (told(payout, 3), payout.movement is None) == ((SENDING, ""), False)
    assert [told(payout, ticks) for ticks in (4, 5)] == [(PAID, ""), (PAID, PayoutException.REVERSED)]


def test_steps_that_were_missed_are_played_in_their_order() -> None:
    payout = handed_out(PayoutScenario.REORG)
    assert told(payout, 100) == (PAID, PayoutException.REVERSED)
    assert not PayoutStep.objects.filter(done_at=None).exists()


def test_a_new_plan_takes_the_old_ones_place() -> None:
    payout = handed_out(PayoutScenario.PAID)
    plan_outflow(payout, make_watched(payout.merchant, mode=Mode.TEST), scenario=PayoutScenario.NEVER, now=NOON)
    assert told(payout, 100) == (APPROVED, "")


def test_the_least_amount_is_paid_wrongly_too() -> None:
    payout = handed_out(PayoutScenario.WRONG_AMOUNT)
    Payout.objects.update(units=1)
    told(payout, 2)
    assert WatchedMovement.objects.get().units == 2


@pytest.mark.parametrize(
    ("metadata", "kinds"),
    [
        ("{}", ["send", "confirm"]),
        ('{"test_scenario": "wrong_amount"}', ["send_less", "confirm"]),
        ('{"test_scenario": ["never"]}', ["send", "confirm"]),
        ('{"test_scenario": "other"}', ["send", "confirm"]),
    ],
)
def test_the_metadata_of_a_payout_names_its_scenario(metadata: str, kinds: list[str]) -> None:
    payout = approved(make_payout())
    payout.mode, payout.metadata = Mode.TEST, metadata
    plan_outflows([payout], make_watched(payout.merchant, mode=Mode.TEST), now=NOON)
    assert list(PayoutStep.objects.order_by("pk").values_list("kind", flat=True)) == kinds


def test_real_money_is_not_played() -> None:
    payout = approved(make_payout())
    with pytest.raises(ValueError, match="test mode"):
        plan_outflow(payout, make_watched(payout.merchant), scenario=PayoutScenario.PAID, now=NOON)
