"""The overview's chart: payments of checkouts and machines, by day and by network."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from accounts.team.seats import Seat
from checkouts.dashboard.figures import Figures, Sums, change_of
from wallets.networks import chain_spec
from x402.dashboard.sums import MachineDay, machine_days

_NOTHING = Decimal(0)
# The round values of a chart line, times a power of ten.
_STEPS: Final = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_LINES: Final = 4


@dataclass(frozen=True, slots=True)
class ChartDay:
    """A day. The shares are in per mille of the axis, whose top exceeds every day's total."""

    day: date
    sums: Sums
    machines: MachineDay
    share: int
    machine_share: int

    @property
    def top(self) -> int:
        """Return the height of both bars together."""
        return self.share + self.machine_share


@dataclass(frozen=True, slots=True)
class ChartNetwork:
    """A network's payments; `share` in per mille of the busiest one's."""

    chain: str
    name: str
    volume: Decimal
    share: int


@dataclass(frozen=True, slots=True)
class Chart:
    """The days, what machines paid in them and in as many before, the best day's volume, and the networks, the busiest first.

    `ticks` are the amounts beside the lines, the top one first; none where nothing was paid.
    """

    days: Sequence[ChartDay]
    machines: MachineDay
    machines_before: MachineDay
    ticks: Sequence[Decimal]
    best: Decimal
    networks: Sequence[ChartNetwork]

    @property
    def machines_change(self) -> Decimal | None:
        """Return machines' change in per cent; None if they paid nothing before."""
        return change_of(self.machines.volume, self.machines_before.volume)


def chart_of(seat: Seat, figures: Figures) -> Chart:
    """Combine machines' payments with the checkouts of the same days."""
    by_day: dict[date, MachineDay] = defaultdict(MachineDay)
    by_chain = defaultdict(Decimal, {network.chain: network.volume for network in figures.networks})
    before = MachineDay()
    begin = figures.since - timedelta(days=len(figures.days))
    for part in machine_days(seat, since=begin, until=figures.until):
        if part.day < figures.since:
            before += part.paid
            continue
        by_day[part.day] += part.paid
        by_chain[part.chain] += part.paid.volume
    best = _best(figures, by_day)
    step = step_of(best)
    return Chart(
        _days(figures, by_day, step * _LINES),
        machines=sum(by_day.values(), MachineDay()),
        machines_before=before,
        ticks=[step * line for line in range(_LINES, -1, -1)] if best else (),
        best=best,
        networks=_networks(by_chain),
    )


def step_of(best: Decimal) -> Decimal:
    """Return the value of one line of an axis with four: the smallest round amount that covers the best day; 0 for none."""
    if not best:
        return _NOTHING
    quarter = best / _LINES
    power = Decimal(10) ** quarter.adjusted()
    return next(step * power for step in _STEPS if step * power >= quarter)


def _best(figures: Figures, by_day: Mapping[date, MachineDay]) -> Decimal:
    volumes = (day.sums.volume + by_day.get(day.day, MachineDay()).volume for day in figures.days)
    return max(volumes, default=_NOTHING)


def _days(figures: Figures, by_day: Mapping[date, MachineDay], top: Decimal) -> list[ChartDay]:
    return [
        ChartDay(day.day, day.sums, paid, share=_share(day.sums.volume, top), machine_share=_share(paid.volume, top))
        for day in figures.days
        for paid in [by_day.get(day.day, MachineDay())]
    ]


def _networks(by_chain: Mapping[str, Decimal]) -> list[ChartNetwork]:
    best = max(by_chain.values(), default=_NOTHING)
    ranked = sorted(by_chain.items(), key=lambda item: -item[1])
    return [ChartNetwork(chain, chain_spec(chain).title, volume, _share(volume, best)) for chain, volume in ranked]


def _share(part: Decimal, whole: Decimal) -> int:
    return int(part * 1000 / whole) if whole else 0
