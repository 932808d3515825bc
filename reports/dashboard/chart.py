"""The chart of the overview: what checkouts and what machines brought in on each day, one above the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounts.seats import Seat
from checkouts.dashboard.figures import Figures, Sums
from facilitator.dashboard.sums import MachineDay, machine_days, total


@dataclass(frozen=True, slots=True)
class ChartDay:
    """A day. The shares are in per mille of the best day's volume, both kinds together."""

    day: date
    sums: Sums
    machines: MachineDay
    share: int
    machine_share: int

    @property
    def top(self) -> int:
        """How high both bars are together."""
        return self.share + self.machine_share


@dataclass(frozen=True, slots=True)
class Chart:
    """The days, what machines paid in them, and the best day's volume."""

    days: Sequence[ChartDay]
    machines: MachineDay
    best: Decimal


def chart_of(seat: Seat, figures: Figures) -> Chart:
    """Put machines' payments beside the checkouts of the same days."""
    machines = machine_days(seat, since=figures.since, until=figures.until)
    pairs = [
        (day.day, day.sums, machines.get(day.day, MachineDay())) for day in figures.days
    ]
    best = max(
        (sums.volume + paid.volume for _, sums, paid in pairs), default=Decimal(0)
    )
    days = [
        ChartDay(
            day, sums, paid, _share(sums.volume, best), _share(paid.volume, best)
        )
        for day, sums, paid in pairs
    ]
    return Chart(days, total(machines.values()), best)


def _share(part: Decimal, best: Decimal) -> int:
    return int(part * 1000 / best) if best else 0
