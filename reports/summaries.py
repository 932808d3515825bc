"""Adds up a merchant's incoming payments, watched movements and fees, by network and token, by day and by tag."""

import operator
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import reduce
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Aggregate, Count, Expression, F, Q, QuerySet, Sum, Value
from django.db.models.functions import TruncDate

from accounts.models import FeeDay, FeeEntry
from accounts.states import Mode
from gateway.core.api.pagination import chunks_by_key
from gateway.core.money import EXACT, round_to_cent
from gateway.core.postgres.replica import snapshot
from gateway.core.times import local_day, midnight, strays, today_in
from payouts.models import Payout
from reports.inputs import ReportFilter
from reports.selectors import all_movements, movements_wanted, transfers_wanted, watched_wallets
from reports.totals import Cover, Part, Span, cover_of, span_of
from reports.worths import refund_worths, transfer_worths
from wallets.models import TransferDay, WatchedBalance, WatchedDay
from wallets.networks import EUROS, is_accepted
from wallets.states import ClaimKind, Direction, TransferState

Key = TypeVar("Key")

_FINAL: Final = Q(state=TransferState.CONFIRMED)
_WAITING: Final = Q(state=TransferState.DETECTED)
_IN: Final = Q(direction=Direction.IN)
_OUT: Final = Q(direction=Direction.OUT)
# What paid for something, in kept days and in transfers: a refund's claim is of money that paid for nothing.
_KEPT_PAID: Final = Q(claim__in=ClaimKind.values)
_RAW_PAID: Final = Q(claim__kind__in=ClaimKind.values)

_DAY: Final = timedelta(days=1)

_Counter = Callable[[Q], Aggregate]


def fees_of(wanted: ReportFilter) -> Decimal:
    """Return the fees, in USD to a cent, charged in a filter's time, less refunds in it.

    Test mode and watched wallets are free.
    """
    if wanted.mode != Mode.LIVE or wanted.tag:
        return Decimal(0)
    span = span_of(wanted.since, wanted.until)
    entries = FeeEntry.objects.filter(merchant=wanted.merchant_id)
    if wanted.chain:
        entries = entries.filter(chain=wanted.chain)
    parts = [_fees_between(entries, since, until) for since, until in span.rest]
    return round_to_cent(reduce(EXACT.add, parts, _fee_sum(_fee_days(wanted, span))))


def _fee_days(wanted: ReportFilter, span: Span) -> QuerySet[FeeDay]:
    kept = FeeDay.objects.filter(merchant=wanted.merchant_id, day__gte=span.first, day__lt=span.end)
    return kept.filter(chain=wanted.chain) if wanted.chain else kept


def _fees_between(entries: QuerySet[FeeEntry], since: datetime, until: datetime) -> Decimal:
    return _fee_sum(entries.filter(charged_at__gte=since, charged_at__lt=until))


def _fee_sum(found: QuerySet[FeeDay] | QuerySet[FeeEntry]) -> Decimal:
    return found.aggregate(fees=Sum("amount"))["fees"] or Decimal(0)


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

    def __neg__(self) -> "Sums":
        return Sums(*(-getattr(self, name) for name in _NAMES))

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
    """All totals of a report: by network and token, by day, newest first, without empty days, and by tag.

    A wallet's movements count for each of its tags, payments included. `fees` are in USD.
    """

    total: Sums
    by_token: dict[tuple[str, str], Sums]
    by_day: dict[date, Sums]
    by_tag: dict[str, Sums]
    balances: list[Balance]
    fees: Decimal


def summary_of(wanted: ReportFilter, *, now: datetime, zone: tzinfo = UTC) -> Summary:
    """Add up the accepted tokens of a filter with both bounds, by days in a time zone; each counts as one USD.

    Euros that paid checkouts, and refunds of them, count at what they were worth there. Orphaned transfers are excluded. Call it
    outside a transaction: it reads all in a snapshot of its own. Totals are kept by days of UTC. What lies between their midnights and
    those of the time zone is read row by row, and so are euros.
    """
    by_token: dict[tuple[str, str], Sums] = defaultdict(Sums)
    by_day: dict[date, Sums] = defaultdict(Sums)
    by_tag: dict[str, Sums] = defaultdict(Sums)
    with snapshot():
        cover = _cover(wanted, now)
        moved = [*_transfers(wanted, cover), *_movements(wanted, cover)]
        for one in _of_dollars(moved):
            by_token[one.chain, one.token] += one.sums
            by_day[local_day(one.key, zone)] += one.sums
        for step, one in _strays(wanted, zone):
            day = local_day(one.key, zone)
            by_day[day] += -one.sums
            by_day[day + step] += one.sums
        for one in _of_dollars(_tagged(wanted, cover)):
            for tag in one.key:
                by_tag[tag] += one.sums
        for one in _of_euros(wanted, {one.key for one in moved if one.token in EUROS}, zone):
            by_token[one.chain, one.token] += one.sums
            by_day[one.key] += one.sums
        balances, fees = _balances(wanted), fees_of(wanted)
    return Summary(
        total=sum(by_token.values(), Sums()),
        by_token=dict(sorted(_some(by_token))),
        by_day=dict(sorted(_some(by_day), reverse=True)),
        by_tag=dict(sorted(_some(by_tag))),
        balances=balances,
        fees=fees,
    )


def token_sums(wanted: ReportFilter, *, now: datetime) -> dict[tuple[str, str], Sums]:
    """Return only the sums by chain and token, of every recorded token in its units; within a `snapshot`, if other reads must fit."""
    by_token: dict[tuple[str, str], Sums] = defaultdict(Sums)
    cover = _cover(wanted, now)
    for one in (*_transfers(wanted, cover), *_movements(wanted, cover)):
        by_token[one.chain, one.token] += one.sums
    return dict(_some(by_token))


def _cover(wanted: ReportFilter, now: datetime) -> Cover:
    return cover_of(*_bounds(wanted), now=now)


def _bounds(wanted: ReportFilter) -> tuple[datetime, datetime]:
    if wanted.since is None or wanted.until is None:
        raise ValueError("a summary needs both bounds")
    return wanted.since, wanted.until


def _some(sums: Mapping[Key, Sums]) -> Iterator[tuple[Key, Sums]]:
    """Skip groups whose sums are all zero."""
    return ((key, one) for key, one in sums.items() if one != Sums())


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


class _GroupSums(NamedTuple):
    """The totals of a network and token, for a day, or for wallets with the same tags."""

    chain: str
    token: str
    key: Any
    sums: Sums


def _transfers(wanted: ReportFilter, cover: Cover) -> Iterator[_GroupSums]:
    # Their addresses are not watched wallets: they have no tags.
    if wanted.tag:
        return
    kept = TransferDay.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    kept = kept.filter(day__gte=cover.first, day__lt=cover.end)
    if wanted.chain:
        kept = kept.filter(chain=wanted.chain)
    yield from _groups(kept, _of_transfers(_kept_count, _KEPT_PAID), F("day"))
    sums = _of_transfers(_raw_count, _RAW_PAID)
    for part in cover.parts:
        raw = transfers_wanted(_within(wanted, part))
        yield from _groups(raw, sums, _day_of(part), part)


def _movements(wanted: ReportFilter, cover: Cover) -> Iterator[_GroupSums]:
    # Transfers include the payments; with a tag there are no transfers.
    some = Q() if wanted.tag else Q(is_payment=False)
    return _watched(wanted, cover, some, F("day"), _day_of)


def _tagged(wanted: ReportFilter, cover: Cover) -> Iterator[_GroupSums]:
    tags = F("wallet__tags")
    return _watched(wanted, cover, Q(), tags, lambda _part: tags)


def _watched(
    wanted: ReportFilter, cover: Cover, some: Q, key: F, part_key: Callable[[Part], Expression | F]
) -> Iterator[_GroupSums]:
    kept = WatchedDay.objects.filter(some, wallet__in=watched_wallets(wanted))
    kept = kept.filter(day__gte=cover.first, day__lt=cover.end)
    kept = kept.annotate(chain=F("wallet__chain"))
    yield from _groups(kept, _of_movements(_kept_count), key)
    for part in cover.parts:
        raw = all_movements(_within(wanted, part)).filter(some)
        yield from _groups(raw, _of_movements(_raw_count), part_key(part), part)


def _strays(wanted: ReportFilter, zone: tzinfo) -> Iterator[tuple[timedelta, _GroupSums]]:
    """Return the sums of what lies in the day before or after the local one of its day of UTC, with that difference."""
    everything = replace(wanted, since=None, until=None)
    for step, times in zip((-_DAY, _DAY), strays(*_bounds(wanted), zone), strict=True):
        if not times:
            continue
        some = reduce(operator.or_, (Q(block_time__gte=since, block_time__lt=until) for since, until in times))
        for raw, sums in (
            (transfers_wanted(everything), _of_transfers(_raw_count, _RAW_PAID)),
            (movements_wanted(everything), _of_movements(_raw_count)),
        ):
            for one in _of_dollars(_groups(raw.filter(some), sums, TruncDate("block_time", tzinfo=UTC))):
                yield step, one


def _of_dollars(groups: Iterable[_GroupSums]) -> Iterator[_GroupSums]:
    """Leave out what is not one USD: tokens that are only recorded may be worth anything."""
    return (one for one in groups if is_accepted(one.chain, one.token))


def _of_euros(wanted: ReportFilter, days: Collection[date], zone: tzinfo) -> Iterator[_GroupSums]:
    """Return what euros were worth that paid checkouts or went back, one by one, of the days (UTC) on which some moved.

    The keys are days in a time zone. Tags have none: their movements of euros are no payments.
    """
    if wanted.tag or not days:
        return
    some = Q(token__in=EUROS, block_time__gte=midnight(min(days)), block_time__lt=midnight(max(days)) + _DAY)
    paid = transfers_wanted(wanted).filter(some, payment__isnull=False).exclude(state=TransferState.ORPHANED)
    for chunk in chunks_by_key(paid):
        worths = transfer_worths([one.pk for one in chunk])
        for transfer in chunk:
            if (worth := worths.get(transfer.pk)) is not None:
                is_final = transfer.state == TransferState.CONFIRMED
                sums = Sums(inflow=worth, came=1, credited=1) if is_final else Sums(unconfirmed=worth, waiting=1)
                yield _GroupSums(transfer.chain, transfer.token, today_in(zone, now=transfer.block_time), sums)
    sent = movements_wanted(wanted).filter(some, _FINAL, _OUT)
    for payouts in chunks_by_key(Payout.objects.filter(movement__in=sent).select_related("movement")):
        given_back = refund_worths([payout.public_id for payout in payouts])
        for payout in payouts:
            if payout.movement and (worth := given_back.get(payout.public_id)) is not None:
                day = today_in(zone, now=payout.movement.block_time)
                yield _GroupSums(payout.movement.chain, payout.movement.token, day, Sums(outflow=worth, left=1))


def _within(wanted: ReportFilter, part: Part) -> ReportFilter:
    return replace(wanted, since=part.since, until=part.until)


def _day_of(part: Part) -> Value:
    return Value(part.since.date())


def _groups(
    rows: QuerySet[Any], sums: Mapping[str, Aggregate], key: Expression | F, part: Part | None = None
) -> Iterator[_GroupSums]:
    """Return the totals of every token, in its own units."""
    is_left_out = part is not None and part.is_left_out
    found = rows.annotate(key=key).values_list("chain", "token", "key")
    for chain, token, value, *told in found.annotate(**sums).order_by():
        numbers = dict(zip(sums, (int(one or 0) for one in told), strict=True))
        added = Sums(**numbers)
        yield _GroupSums(chain, token, value, -added if is_left_out else added)


def _balances(wanted: ReportFilter) -> list[Balance]:
    """Return current balances, whatever the report's days."""
    watched = watched_wallets(wanted).filter(removed_at=None)
    held = WatchedBalance.objects.filter(wallet__in=watched)
    sums = held.values("wallet__chain", "token").annotate(held=Sum("units"))
    return [
        Balance(row["wallet__chain"], row["token"], int(row["held"])) for row in sums.order_by("wallet__chain", "token")
    ]
