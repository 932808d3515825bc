"""Adding up what a merchant received in some days, by network and token and by day."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date
from typing import NamedTuple

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate

from reports.inputs import ReportFilter
from reports.selectors import transfers_wanted
from wallets.networks import is_accepted
from wallets.states import TransferState


@dataclass(frozen=True, slots=True)
class Sums:
    """What some transfers add up to. `inflow` is final, `unconfirmed` is not yet; both in base units.

    `count` are the final ones, `credited` those of them that paid a checkout, `waiting` those that are not final.
    """

    inflow: int = 0
    unconfirmed: int = 0
    count: int = 0
    credited: int = 0
    waiting: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.inflow + other.inflow,
            self.unconfirmed + other.unconfirmed,
            self.count + other.count,
            self.credited + other.credited,
            self.waiting + other.waiting,
        )

    @property
    def uncredited(self) -> int:
        """How many final ones paid no checkout."""
        return self.count - self.credited


@dataclass(frozen=True, slots=True)
class Summary:
    """All sums of a report: by network and token, and by day (UTC), newest first; days without money are left out."""

    total: Sums
    by_token: dict[tuple[str, str], Sums]
    by_day: dict[date, Sums]


class _Group(NamedTuple):
    """The sums of one day, network and token."""

    day: date
    chain: str
    token: str
    sums: Sums


def summary_of(wanted: ReportFilter) -> Summary:
    """Add up the accepted tokens of a filter; each counts as one USD. What a network took back is no part of it."""
    by_token: dict[tuple[str, str], Sums] = defaultdict(Sums)
    by_day: dict[date, Sums] = defaultdict(Sums)
    for group in _groups(wanted):
        by_token[group.chain, group.token] += group.sums
        by_day[group.day] += group.sums
    return Summary(
        total=sum(by_token.values(), Sums()),
        by_token=dict(sorted(by_token.items())),
        by_day=dict(sorted(by_day.items(), reverse=True)),
    )


def _groups(wanted: ReportFilter) -> Iterator[_Group]:
    standing = transfers_wanted(wanted).exclude(state=TransferState.ORPHANED)
    grouped = (
        standing.annotate(day=TruncDate("block_time", tzinfo=UTC))
        .values("day", "chain", "token", "state")
        .annotate(sum=Sum("units"), made=Count("pk"), paid=Count("payment"))
    )
    for row in grouped.order_by():
        # A token that is only recorded may be worth anything.
        if is_accepted(row["chain"], row["token"]):
            sums = _sums(row["state"], int(row["sum"]), row["made"], row["paid"])
            yield _Group(row["day"], row["chain"], row["token"], sums)


def _sums(state: str, units: int, made: int, paid: int) -> Sums:
    if state == TransferState.CONFIRMED:
        return Sums(inflow=units, count=made, credited=paid)
    return Sums(unconfirmed=units, waiting=made)
