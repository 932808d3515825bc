"""Totals of machines' payments: overall, by network and token, and by day."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from accounts.states import Mode
from accounts.team.access import Seat
from gateway.core.money import from_units
from gateway.core.times import midnight
from settlements.dashboard.sums import Figures, Sums, figures_of, sums_from
from wallets.models import TransferDay
from wallets.networks import is_accepted
from wallets.states import ClaimKind, TransferState
from x402.models import X402Payment
from x402.payments.addresses import settles_directly


@dataclass(frozen=True, slots=True)
class MachineDay:
    """Payments of a day or range; `volume` is USD, so what was paid in another currency's tokens is counted and not in it."""

    count: int = 0
    volume: Decimal = Decimal(0)

    def __add__(self, other: "MachineDay") -> "MachineDay":
        return MachineDay(self.count + other.count, self.volume + other.volume)


def machine_sums(seat: Seat) -> Sums:
    """Return the three totals of machines' payments.

    Forwarders' balances give received and settled money. If machines pay the merchant's own wallet, verified payments are
    settled. In test mode only payments exist, and money for forwarders stays unsettled.
    """
    if seat.mode == Mode.LIVE:
        forwarded = figures_of(seat.merchant.pk, purpose=ClaimKind.X402)
        return sums_from([*forwarded, *_direct(seat)])
    return sums_from(_simulated(seat))


def _direct(seat: Seat) -> Iterator[Figures]:
    rows = TransferDay.objects.filter(
        merchant=seat.merchant, mode=seat.mode, claim=ClaimKind.X402, state=TransferState.CONFIRMED
    )
    return (figures for figures in _grouped(rows) if settles_directly(figures.chain) and figures.received)


def _simulated(seat: Seat) -> Iterator[Figures]:
    return _grouped(X402Payment.objects.filter(merchant=seat.merchant, mode=seat.mode))


def _grouped(rows: QuerySet[Any]) -> Iterator[Figures]:
    """Add rows up by network and token."""
    grouped = rows.values("chain", "token").annotate(sum=Sum("units"))
    for row in grouped.order_by("chain", "token"):
        units = int(row["sum"])
        settled = units if settles_directly(row["chain"]) else 0
        yield Figures(ClaimKind.X402, row["chain"], row["token"], units, settled)


@dataclass(frozen=True, slots=True)
class MachineSum:
    """Machines' payments of one token on a day (UTC) and network."""

    day: date
    chain: str
    paid: MachineDay


def machine_days(seat: Seat, *, since: date, until: date) -> list[MachineSum]:
    """Return machines' payments by day, network and token, both ends included, without those that a reorg removed.

    Live transfers are added up daily as they are written: as fast for a million payments as for ten.
    """
    if seat.mode == Mode.LIVE:
        return _from_transfers(seat, since, until)
    return _from_simulated(seat, since, until)


def _from_transfers(seat: Seat, since: date, until: date) -> list[MachineSum]:
    kept = TransferDay.objects.filter(
        merchant=seat.merchant, mode=seat.mode, day__gte=since, day__lte=until, claim=ClaimKind.X402
    )
    standing = kept.exclude(state=TransferState.ORPHANED)
    grouped = standing.values("day", "chain", "token").annotate(number=Sum("count"), sum=Sum("units"))
    return [_sum(row) for row in grouped.order_by()]


def _from_simulated(seat: Seat, since: date, until: date) -> list[MachineSum]:
    found = X402Payment.objects.filter(
        merchant=seat.merchant,
        mode=seat.mode,
        verified_at__gte=midnight(since),
        verified_at__lt=midnight(until + timedelta(days=1)),
    )
    grouped = found.values("chain", "token", day=TruncDate("verified_at")).annotate(
        number=Count("pk"), sum=Sum("units")
    )
    return [_sum(row) for row in grouped.order_by()]


def _sum(row: Mapping[str, Any]) -> MachineSum:
    units = int(row["sum"]) if is_accepted(row["chain"], row["token"]) else 0
    return MachineSum(row["day"], row["chain"], MachineDay(int(row["number"]), from_units(units)))
