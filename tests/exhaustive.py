"""Repetitions that the standard run takes a few of, and `script/test --all` all of."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

Case = TypeVar("Case")

EXHAUSTIVE: Final[bool] = os.environ.get("FLORIN_EXHAUSTIVE") == "1"
"""Whether every repetition is wanted."""


def sample(cases: Sequence[Case], few: int) -> list[Case]:
    """All cases if every repetition is wanted, else `few` spread evenly, the first and the last among them."""
    if EXHAUSTIVE or few >= len(cases):
        return list(cases)
    last = len(cases) - 1
    return [cases[round(place * last / max(few - 1, 1))] for place in range(few)]
