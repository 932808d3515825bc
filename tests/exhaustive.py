"""How much of what is repeated exhaustively a run does: all with `script/test --exhaustive`, else a few of each."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

EXHAUSTIVE: bool = os.environ.get("FLORIN_EXHAUSTIVE") == "1"
"""Whether all repetitions are wanted."""


def sample(cases: Sequence[T], few: int) -> list[T]:
    """All cases in an exhaustive run, else `few` of them spread evenly, the first and the last included."""
    if EXHAUSTIVE or few >= len(cases):
        return list(cases)
    last = len(cases) - 1
    return [cases[round(place * last / max(few - 1, 1))] for place in range(few)]
