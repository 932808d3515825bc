"""Test checkouts' scenarios: steps with due times, five seconds apart. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from checkouts.states import TestScenario

TICK = timedelta(seconds=5)


class StepKind(StrEnum):
    """What a step does to its checkout."""

    PAY = "pay"
    PAY_SHORT = "pay_short"
    PAY_OVER = "pay_over"
    PAY_LATE = "pay_late"
    DETECT = "detect"
    ORPHAN = "orphan"
    RETURN = "return"
    EXPIRE = "expire"


# The share of the price that a paying step sends.
SHARES = {
    StepKind.PAY: Decimal(1),
    StepKind.PAY_SHORT: Decimal("0.5"),
    StepKind.PAY_OVER: Decimal(2),
    StepKind.PAY_LATE: Decimal(1),
    StepKind.DETECT: Decimal(1),
}

_SCENARIOS: dict[TestScenario, tuple[StepKind, ...]] = {
    TestScenario.COMPLETED: (StepKind.PAY,),
    TestScenario.UNDERPAID: (StepKind.PAY_SHORT,),
    TestScenario.OVERPAID: (StepKind.PAY_OVER,),
    TestScenario.LATE: (StepKind.EXPIRE, StepKind.PAY_LATE),
    TestScenario.EXPIRED: (StepKind.EXPIRE,),
    # Before it is final, and once more afterwards.
    TestScenario.REORG: (StepKind.DETECT, *(StepKind.ORPHAN, StepKind.RETURN), *(StepKind.ORPHAN, StepKind.RETURN)),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step and its due time."""

    kind: StepKind
    due_at: datetime


def steps_of(scenario: TestScenario, start: datetime) -> list[Step]:
    """Return a scenario's steps, one every five seconds after `start`."""
    return [Step(kind, start + TICK * number) for number, kind in enumerate(_SCENARIOS[scenario], 1)]
