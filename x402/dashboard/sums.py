"""Totals of machines' payments: overall, by network and token, and by day."""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta, tzinfo
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from accounts.states import Mode
from accounts.team.access import Seat
from gateway.core.money import from_units
from gateway.core.times import local_day, midnight, strays, utc_days
from settlements.dashboard.sums import ForwarderTotals, SettlementSums, figures_of, sums_from
from wallets.models import Transfer, TransferDay
from wallets.networks import is_accepted
from wallets.states import ClaimKind, TransferState
from x402.models import X402Payment
from x402.payments.addresses import settles_directly

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class MachineDay:
    """Payments of a day or range; `volume` is USD, so what was paid in another currency's tokens is counted and not in it."""

    count: int = 0
    volume: Decimal = Decimal(0)

    def __add__(self, other: "MachineDay") -> "MachineDay":
        return MachineDay(self.count + other.count, self.volume + other.volume)

    def __neg__(self) -> "MachineDay":
        return MachineDay(-self.count, -self.volume)


def machine_sums(seat: Seat) -> SettlementSums:
    """Return the three totals of machines' payments.

    Forwarders' balances give received and settled money. If machines pay the merchant's own wallet, verified payments are
    settled. In test mode only payments exist, and money for forwarders stays unsettled.
    """
    if seat.mode == Mode.LIVE:
        forwarded = figures_of(seat.merchant.pk, purpose=ClaimKind.X402)
        return sums_from([*forwarded, *_direct(seat)])
    return sums_from(_simulated(seat))


def _direct(seat: Seat) -> Iterator[ForwarderTotals]:
    rows = TransferDay.objects.filter(
        merchant=seat.merchant, mode=seat.mode, claim=ClaimKind.X402, state=TransferState.CONFIRMED
    )
    return (figures for figures in _grouped(rows) if settles_directly(figures.chain) and figures.received)


def _simulated(seat: Seat) -> Iterator[ForwarderTotals]:
    return _grouped(X402Payment.objects.filter(merchant=seat.merchant, mode=seat.mode))


def _grouped(rows: QuerySet[Any]) -> Iterator[ForwarderTotals]:
    """Add rows up by network and token."""
    grouped = rows.values("chain", "token").annotate(sum=Sum("units"))
    for row in grouped.order_by("chain", "token"):
        units = int(row["sum"])
        settled = units if settles_directly(row["chain"]) else 0
        yield ForwarderTotals(ClaimKind.X402, row["chain"], row["token"], units, settled)


@dataclass(frozen=True, slots=True)
class MachineSum:
    """Machines' payments of one token on a day and network."""

    day: date
    chain: str
    paid: MachineDay


def machine_days(seat: Seat, *, since: date, until: date, zone: tzinfo = UTC) -> list[MachineSum]:
    """Return machines' payments by day of a time zone, network and token, both ends included, without those that a reorg removed.

    Live transfers are added up daily (UTC) as they are written: as fast for a million payments as for ten. In another zone, what lies
    between the midnights of both is read row by row.
    """
    if seat.mode == Mode.LIVE:
        found = [*_from_totals(seat, since, until, zone), *_moved(seat, since, until, zone)]
        return [one for one in found if since <= one.day <= until]
    return _from_simulated(seat, since, until, zone)


def _from_totals(seat: Seat, since: date, until: date, zone: tzinfo) -> list[MachineSum]:
    first, last = utc_days(since, until, zone)
    kept = TransferDay.objects.filter(
        merchant=seat.merchant, mode=seat.mode, day__gte=first, day__lte=last, claim=ClaimKind.X402
    )
    standing = kept.exclude(state=TransferState.ORPHANED)
    grouped = standing.values("day", "chain", "token").annotate(number=Sum("count"), sum=Sum("units"))
    return [replace(one, day=local_day(one.day, zone)) for one in map(_sum, grouped.order_by())]


def _moved(seat: Seat, since: date, until: date, zone: tzinfo) -> Iterator[MachineSum]:
    """Yield what moves the totals to the days of the time zone: less on one day, and as much more beside it."""
    first, last = utc_days(since, until, zone)
    paid = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode, claim__kind=ClaimKind.X402)
    standing = paid.exclude(state=TransferState.ORPHANED)
    found = strays(midnight(first), midnight(last + _DAY), zone)
    for step, times in zip((-_DAY, _DAY), found, strict=True):
        if not times:
            continue
        some = reduce(operator.or_, (Q(block_time__gte=start, block_time__lt=stop) for start, stop in times))
        grouped = standing.filter(some).values("chain", "token", day=TruncDate("block_time", tzinfo=UTC))
        for row in grouped.annotate(number=Count("pk"), sum=Sum("units")).order_by():
            moved = _sum(row)
            noon = local_day(moved.day, zone)
            yield replace(moved, day=noon, paid=-moved.paid)
            yield replace(moved, day=noon + step)


def _from_simulated(seat: Seat, since: date, until: date, zone: tzinfo) -> list[MachineSum]:
    found = X402Payment.objects.filter(
        merchant=seat.merchant,
        mode=seat.mode,
        verified_at__gte=midnight(since, zone),
        verified_at__lt=midnight(until + timedelta(days=1), zone),
    )
    grouped = found.values("chain", "token", day=TruncDate("verified_at", tzinfo=zone)).annotate(
        number=Count("pk"), sum=Sum("units")
    )
    return [_sum(row) for row in grouped.order_by()]


def _sum(row: Mapping[str, Any]) -> MachineSum:
    units = int(row["sum"]) if is_accepted(row["chain"], row["token"]) else 0
    return MachineSum(row["day"], row["chain"], MachineDay(int(row["number"]), from_units(units)))
