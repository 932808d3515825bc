"""Test checkouts' scenarios: steps with due times, five seconds apart. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from checkouts.amounts import tolerance
from checkouts.states import TestScenario
from gateway.core.money import CENT, round_up_to_cent

TICK = timedelta(seconds=5)


class StepKind(StrEnum):
    """What a step does to its checkout."""

    PAY = "pay"
    PAY_SHORT = "pay_short"
    PAY_REST = "pay_rest"
    PAY_OVER = "pay_over"
    PAY_LATE = "pay_late"
    DETECT = "detect"
    CONFIRM = "confirm"
    ORPHAN = "orphan"
    RETURN = "return"
    EXPIRE = "expire"


SHARES = {
    StepKind.PAY: Decimal(1),
    StepKind.PAY_SHORT: Decimal("0.5"),
    StepKind.PAY_OVER: Decimal(2),
    StepKind.PAY_LATE: Decimal(1),
    StepKind.DETECT: Decimal(1),
}
"""The share of the price that a paying step sends."""

_SCENARIOS: dict[TestScenario, tuple[StepKind, ...]] = {
    TestScenario.COMPLETED: (StepKind.PAY,),
    TestScenario.PROCESSING: (StepKind.DETECT, StepKind.CONFIRM),
    TestScenario.UNDERPAID: (StepKind.PAY_SHORT,),
    TestScenario.TOPPED_UP: (StepKind.PAY_SHORT, StepKind.PAY_REST),
    TestScenario.PART_PAID: (StepKind.PAY_SHORT, StepKind.EXPIRE),
    TestScenario.OVERPAID: (StepKind.PAY_OVER,),
    TestScenario.EXTRA: (StepKind.PAY, StepKind.PAY),
    TestScenario.LATE: (StepKind.EXPIRE, StepKind.PAY_LATE),
    TestScenario.EXPIRED: (StepKind.EXPIRE,),
    # Before it is final, and once more afterwards.
    TestScenario.REORG: (StepKind.DETECT, *(StepKind.ORPHAN, StepKind.RETURN), *(StepKind.ORPHAN, StepKind.RETURN)),
    TestScenario.REVERSED: (StepKind.PAY, StepKind.ORPHAN),
}


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """A step and its due time."""

    kind: StepKind
    due_at: datetime


def amount_of(kind: StepKind, price: Decimal) -> Decimal:
    """Return the USD that a paying step sends, in whole cents."""
    if kind == StepKind.PAY_REST:
        return price - amount_of(StepKind.PAY_SHORT, price)
    share = round_up_to_cent(price * SHARES[kind])
    # Of the lowest prices half is within the tolerance, and would pay them.
    return min(share, price - tolerance(price) - CENT) if kind == StepKind.PAY_SHORT else share


def steps_of(scenario: TestScenario, start: datetime) -> list[ScenarioStep]:
    """Return a scenario's steps, one every five seconds after `start`."""
    return [ScenarioStep(kind, start + TICK * number) for number, kind in enumerate(_SCENARIOS[scenario], 1)]
