from datetime import timedelta
from decimal import Decimal

import pytest

from checkouts.scenarios import SHARES, TICK, Step, StepKind, steps_of
from checkouts.states import TestScenario as Scenario
from tests.factories import NOON

FIVE = timedelta(seconds=5)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_every_scenario_plays_one_step_every_five_seconds(scenario):
    steps = steps_of(scenario, NOON)
    assert [step.due_at for step in steps] == [NOON + FIVE * number for number in range(1, len(steps) + 1)]
    assert FIVE == TICK


def test_the_default_pays_five_seconds_after_creation():
    assert steps_of(Scenario.COMPLETED, NOON) == [Step(StepKind.PAY, NOON + FIVE)]


def test_a_reorganisation_is_played_before_the_completion_and_after_it():
    kinds = [step.kind for step in steps_of(Scenario.REORG, NOON)]
    assert kinds == [StepKind.DETECT, *[StepKind.ORPHAN, StepKind.RETURN] * 2]


def test_every_scenario_is_over_before_the_shortest_checkout_expires():
    shortest = NOON + timedelta(seconds=300)
    for scenario in Scenario:
        assert steps_of(scenario, NOON)[-1].due_at < shortest


def test_steps_that_pay_say_what_part_of_the_price():
    assert SHARES[StepKind.PAY] == Decimal(1)
    assert SHARES[StepKind.PAY_SHORT] < Decimal("0.9")
    assert SHARES[StepKind.PAY_OVER] > Decimal("1.1")
    paying = {kind for kind in StepKind if kind.startswith("pay")} | {StepKind.DETECT}
    assert set(SHARES) == paying
