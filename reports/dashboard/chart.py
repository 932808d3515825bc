"""What checkouts and what machines brought in, put together: by day for the chart of the overview, and by network."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounts.seats import Seat
from checkouts.dashboard.figures import Figures, Sums
from facilitator.dashboard.sums import MachineDay, machine_days
from wallets.networks import chain_spec

_NOTHING = Decimal(0)


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
class ChartNetwork:
    """What was paid on a network; `share` in per mille of the busiest one's."""

    chain: str
    name: str
    volume: Decimal
    share: int


@dataclass(frozen=True, slots=True)
class Chart:
    """The days, what machines paid in them, the best day's volume, and the networks, the busiest first."""

    days: Sequence[ChartDay]
    machines: MachineDay
    best: Decimal
    networks: Sequence[ChartNetwork]


def chart_of(seat: Seat, figures: Figures) -> Chart:
    """Put machines' payments beside the checkouts of the same days."""
    by_day: dict[date, MachineDay] = defaultdict(MachineDay)
    by_chain = defaultdict(
        Decimal, {network.chain: network.volume for network in figures.networks}
    )
    for part in machine_days(seat, since=figures.since, until=figures.until):
        by_day[part.day] += part.paid
        by_chain[part.chain] += part.paid.volume
    days = _days(figures, by_day)
    return Chart(
        days,
        machines=sum(by_day.values(), MachineDay()),
        best=_best(figures, by_day),
        networks=_networks(by_chain),
    )


def _best(figures: Figures, by_day: Mapping[date, MachineDay]) -> Decimal:
    volumes = (
        day.sums.volume + by_day.get(day.day, MachineDay()).volume
        for day in figures.days
    )
    return max(volumes, default=_NOTHING)


def _days(figures: Figures, by_day: Mapping[date, MachineDay]) -> list[ChartDay]:
    best = _best(figures, by_day)
    return [
        ChartDay(
            day.day,
            day.sums,
            paid,
            share=_share(day.sums.volume, best),
            machine_share=_share(paid.volume, best),
        )
        for day in figures.days
        for paid in [by_day.get(day.day, MachineDay())]
    ]


def _networks(by_chain: Mapping[str, Decimal]) -> list[ChartNetwork]:
    best = max(by_chain.values(), default=_NOTHING)
    ranked = sorted(by_chain.items(), key=lambda item: -item[1])
    return [
        ChartNetwork(chain, chain_spec(chain).title, volume, _share(volume, best))
        for chain, volume in ranked
    ]


def _share(part: Decimal, best: Decimal) -> int:
    return int(part * 1000 / best) if best else 0
