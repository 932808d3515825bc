"""Adds up a merchant's incoming payments and watched movements, by network and token, by day and by tag.

Whole days come from daily totals; only the rest at both ends of a report is read row by row.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.db.models import Aggregate, Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from reports.fees import fees_of
from reports.inputs import ReportFilter
from reports.selectors import all_movements, transfers_wanted, watched_wallets
from reports.spans import span_of
from wallets.models import TransferDay, WatchedBalance, WatchedDay
from wallets.networks import is_accepted
from wallets.states import Direction, TransferState


@dataclass(frozen=True, slots=True)
class Sums:
    """The totals of some transfers and movements, in base units: final ones, and incoming ones that are not final.

    `came` and `left` are the numbers of final ones, `waiting` that of unconfirmed ones. Of the transfers that came,
    `credited` were used for something and `uncredited` were not; movements of watched wallets are neither.
    """

    inflow: int = 0
    outflow: int = 0
    unconfirmed: int = 0
    came: int = 0
    left: int = 0
    waiting: int = 0
    credited: int = 0
    uncredited: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.inflow + other.inflow,
            self.outflow + other.outflow,
            self.unconfirmed + other.unconfirmed,
            self.came + other.came,
            self.left + other.left,
            self.waiting + other.waiting,
            self.credited + other.credited,
            self.uncredited + other.uncredited,
        )

    @property
    def count(self) -> int:
        """Return how many are final."""
        return self.came + self.left

    @property
    def net(self) -> int:
        """Return incoming less outgoing money."""
        return self.inflow - self.outflow


_NAMES: Final = tuple(field.name for field in fields(Sums))


@dataclass(frozen=True, slots=True)
class Balance:
    """Watched wallets' last read balance of a token on a network, in base units."""

    chain: str
    token: str
    units: int


@dataclass(frozen=True, slots=True)
class Summary:
    """All totals of a report: by network and token, by day (UTC), newest first, without empty days, and by tag.

    A wallet's movements count for each of its tags, payments included. `fees` are in USD.
    """

    total: Sums
    by_token: dict[tuple[str, str], Sums]
    by_day: dict[date, Sums]
    by_tag: dict[str, Sums]
    balances: list[Balance]
    fees: Decimal


class _Group(NamedTuple):
    """The totals of one day, network and token."""

    day: date
    chain: str
    token: str
    sums: Sums


def summary_of(wanted: ReportFilter) -> Summary:
    """Add up the accepted tokens of a filter with both bounds; each counts as one USD.

    Orphaned transfers are excluded.
    """
    by_token: dict[tuple[str, str], Sums] = defaultdict(Sums)
    by_day: dict[date, Sums] = defaultdict(Sums)
    for group in _groups(wanted):
        by_token[group.chain, group.token] += group.sums
        by_day[group.day] += group.sums
    return Summary(
        total=sum(by_token.values(), Sums()),
        by_token=dict(sorted(by_token.items())),
        by_day=dict(sorted(by_day.items(), reverse=True)),
        by_tag=dict(sorted(_by_tag(wanted).items())),
        balances=_balances(wanted),
        fees=fees_of(wanted),
    )


def _groups(wanted: ReportFilter) -> Iterator[_Group]:
    """Return the groups to add up."""
    for found in (_transfers(wanted), _movements(wanted)):
        for group in found:
            if _counts(group.chain, group.token, group.sums):
                yield group


def _counts(chain: str, token: str, sums: Sums) -> bool:
    # Recorded-only tokens may be worth anything. Days without remaining rows are kept with zero.
    return is_accepted(chain, token) and sums != Sums()


_FINAL: Final = Q(state=TransferState.CONFIRMED)
_WAITING: Final = Q(state=TransferState.DETECTED)
_IN: Final = Q(direction=Direction.IN)
_OUT: Final = Q(direction=Direction.OUT)

_Counter = Callable[[Q], Aggregate]


def _kept_count(which: Q) -> Aggregate:
    return Sum("count", filter=which)


def _raw_count(which: Q) -> Aggregate:
    return Count("pk", filter=which)


def _of_transfers(count: _Counter, claimed: Q) -> dict[str, Aggregate]:
    return {
        "inflow": Sum("units", filter=_FINAL),
        "unconfirmed": Sum("units", filter=_WAITING),
        "came": count(_FINAL),
        "waiting": count(_WAITING),
        "credited": count(_FINAL & claimed),
        "uncredited": count(_FINAL & ~claimed),
    }


def _of_movements(count: _Counter) -> dict[str, Aggregate]:
    return {
        "inflow": Sum("units", filter=_FINAL & _IN),
        "outflow": Sum("units", filter=_FINAL & _OUT),
        "unconfirmed": Sum("units", filter=_WAITING & _IN),
        "came": count(_FINAL & _IN),
        "left": count(_FINAL & _OUT),
        "waiting": count(_WAITING & _IN),
    }


def _transfers(wanted: ReportFilter) -> Iterator[_Group]:
    # Its addresses are not watched wallets: they have no tags.
    if wanted.tag:
        return
    span = span_of(wanted.since, wanted.until)
    kept = TransferDay.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    kept = kept.filter(day__gte=span.first, day__lt=span.end)
    if wanted.chain:
        kept = kept.filter(chain=wanted.chain)
    parts = [
        _grouped(
            kept, _of_transfers(_kept_count, ~Q(claim="")), "day", "chain", "token"
        )
    ]
    for since, until in span.rest:
        raw = transfers_wanted(replace(wanted, since=since, until=until))
        sums = _of_transfers(_raw_count, Q(claim__isnull=False))
        parts.append(_grouped(_with_day(raw), sums, "day", "chain", "token"))
    for part in parts:
        for row in part:
            yield _Group(row["day"], row["chain"], row["token"], _sums(row))


def _movements(wanted: ReportFilter) -> Iterator[_Group]:
    # With a tag there are no transfers, which would include the payments.
    keys = ("day", "chain_name", "token")
    for row in _moved(wanted, *keys, with_payments=bool(wanted.tag)):
        yield _Group(row["day"], row["chain_name"], row["token"], _sums(row))


def _by_tag(wanted: ReportFilter) -> dict[str, Sums]:
    found: dict[str, Sums] = defaultdict(Sums)
    for row in _moved(wanted, "chain_name", "token", "tags", with_payments=True):
        sums = _sums(row)
        if _counts(row["chain_name"], row["token"], sums):
            for tag in row["tags"]:
                found[tag] += sums
    return found


def _moved(
    wanted: ReportFilter, *keys: str, with_payments: bool
) -> Iterator[dict[str, Any]]:
    """Return the sums of watched wallets' movements for each of these keys' values; some come twice."""
    span = span_of(wanted.since, wanted.until)
    kept = WatchedDay.objects.filter(wallet__in=watched_wallets(wanted))
    kept = kept.filter(day__gte=span.first, day__lt=span.end)
    rest = [
        _with_day(all_movements(replace(wanted, since=since, until=until)))
        for since, until in span.rest
    ]
    counted = [(kept, _kept_count), *((raw, _raw_count) for raw in rest)]
    for rows, count in counted:
        some = rows if with_payments else rows.filter(is_payment=False)
        yield from _grouped(_with_wallet(some), _of_movements(count), *keys)


def _balances(wanted: ReportFilter) -> list[Balance]:
    """Return current balances, whatever the report's days."""
    watched = watched_wallets(wanted).filter(removed_at=None)
    held = WatchedBalance.objects.filter(wallet__in=watched)
    sums = held.values("wallet__chain", "token").annotate(held=Sum("units"))
    return [
        Balance(row["wallet__chain"], row["token"], int(row["held"]))
        for row in sums.order_by("wallet__chain", "token")
    ]


def _grouped(
    rows: QuerySet[Any], sums: Mapping[str, Aggregate], *keys: str
) -> Iterator[dict[str, Any]]:
    yield from rows.values(*keys).annotate(**sums).order_by()


def _with_day(rows: QuerySet[Any]) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.annotate(day=TruncDate("block_time", tzinfo=UTC))
    return found


def _with_wallet(rows: QuerySet[Any]) -> QuerySet[Any]:
    named = {"chain_name": F("wallet__chain"), "tags": F("wallet__tags")}
    found: QuerySet[Any] = rows.annotate(**named)
    return found


def _sums(row: Mapping[str, Any]) -> Sums:
    return Sums(**{name: int(row[name] or 0) for name in _NAMES if name in row})
