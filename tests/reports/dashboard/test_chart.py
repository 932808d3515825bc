"""The overview's chart."""

from decimal import Decimal

import pytest

from reports.dashboard.chart import step_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("best", "step"), [("0", "0"), ("0.01", "0.0025"), ("4", "1"), ("30.01", "10"), ("3050", "1000")]
)
def test_an_axis_counts_in_round_amounts(best: str, step: str) -> None:
    assert step_of(Decimal(best)) == Decimal(step)
