"""What a wallet held day by day, as a drawing of steps and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from gateway.core.money import from_units

DAY_WIDTH: Final = 10
HEIGHT: Final = 1000
# The highest step stays below the edge, where half of its line would be cut off.
_TOP: Final = 40

Held = Sequence[tuple[date, int]]


@dataclass(frozen=True, slots=True)
class Line:
    """One token: `path` draws its steps, `area` what is below them. `last` is what it holds now."""

    token: str
    path: str
    area: str
    last: Decimal


@dataclass(frozen=True, slots=True)
class Day:
    """What was held when a day (UTC) ended, by token, in the order of the lines."""

    day: date
    held: tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing `width` wide and `HEIGHT` high; its lines, and the days that they are of, the oldest first."""

    lines: tuple[Line, ...]
    days: tuple[Day, ...]
    highest: Decimal

    @property
    def width(self) -> int:
        """Return how wide the drawing is, in its own measure."""
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
    """Draw what was held of each token at the end of each day, in base units: the same days of each, the oldest first."""
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
        token=token,
        path=f"M0 {heights[0]}{steps}",
        area=f"M0 {HEIGHT}{steps}V{HEIGHT}z",
        last=from_units(held[-1][1]),
    )


def _height(units: int, highest: int) -> int:
    """Return how far under the top a step is, for drawings grow downwards."""
    return HEIGHT - (units * (HEIGHT - _TOP) // highest if highest else 0)
