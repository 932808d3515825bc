"""A wallet's daily balance, as a step chart and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from gateway.core.money import from_units

DAY_WIDTH: Final = 10
HEIGHT: Final = 1000
# The highest step stays below the edge, which would cut off half of its line.
_TOP: Final = 40

Held = Sequence[tuple[date, int]]


@dataclass(frozen=True, slots=True)
class Line:
    """One token: `path` draws its steps, `area` the area below. `last` is its current balance."""

    token: str
    path: str
    area: str
    last: Decimal


@dataclass(frozen=True, slots=True)
class Day:
    """The balances at the end of a day (UTC), by token, in the order of the lines."""

    day: date
    held: tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing `width` wide and `HEIGHT` high; its lines, and their days, oldest first."""

    lines: tuple[Line, ...]
    days: tuple[Day, ...]
    highest: Decimal

    @property
    def width(self) -> int:
        """Return the drawing's width, in its own unit."""
        return len(self.days) * DAY_WIDTH

    @property
    def since(self) -> date:
        """Return the first day."""
        return self.days[0].day

    @property
    def until(self) -> date:
        """Return the last day."""
        return self.days[-1].day


def chart_of(history: Mapping[str, Held]) -> Chart:
    """Draw each token's balance at the end of each day, in base units: the same days for each, oldest first."""
    highest = max(units for held in history.values() for _, units in held)
    lines = [_line(token, held, highest) for token, held in history.items()]
    days = [
        Day(day, tuple((token, from_units(history[token][at][1])) for token in history))
        for at, (day, _) in enumerate(next(iter(history.values())))
    ]
    return Chart(tuple(lines), tuple(days), from_units(highest))


def _line(token: str, held: Held, highest: int) -> Line:
    heights = [_height(units, highest) for _, units in held]
    steps = "".join(f"V{height}h{DAY_WIDTH}" for height in heights)
    return Line(
        token=token, path=f"M0 {heights[0]}{steps}", area=f"M0 {HEIGHT}{steps}V{HEIGHT}z", last=from_units(held[-1][1])
    )


def _height(units: int, highest: int) -> int:
    """Return a step's distance from the top: in SVG, y grows downwards."""
    return HEIGHT - (units * (HEIGHT - _TOP) // highest if highest else 0)
