"""What the standard run takes of many repetitions."""

import pytest

from tests import exhaustive
from tests.exhaustive import sample

TEN = list(range(10))


@pytest.fixture(autouse=True)
def _standard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "EXHAUSTIVE", False)


@pytest.mark.parametrize(("few", "taken"), [(1, [0]), (2, [0, 9]), (3, [0, 4, 9]), (10, TEN), (99, TEN)])
def test_a_few_are_spread_evenly_from_the_first_to_the_last(few: int, taken: list[int]) -> None:
    assert sample(TEN, few) == taken


def test_an_exhaustive_run_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "EXHAUSTIVE", True)
    assert sample(TEN, 2) == TEN
