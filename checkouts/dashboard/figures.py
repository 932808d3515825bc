"""The figures of some days, from sums that are kept by day: as quick for a million checkouts as for ten."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from django.db import connection
from django.db.models import Max, Sum

from accounts.team.seats import Seat
from checkouts.models import DailyTotal
from checkouts.states import CheckoutStatus

RANGES: Final = (7, 30, 90)
# So many of the newest say how long crediting takes; all of them would be read one by one.
MOST_TIMED: Final = 1_000
_TENTH: Final = Decimal("0.1")


@dataclass(frozen=True, slots=True)
class Sums:
    """What some days add up to; `volume` is USD."""

    created: int = 0
    completed: int = 0
    expired: int = 0
    volume: Decimal = Decimal(0)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.created + other.created,
            self.completed + other.completed,
            self.expired + other.expired,
            self.volume + other.volume,
        )

    @property
    def conversion(self) -> Decimal | None:
        """What share of those that ended was paid, in per cent; None where none has ended."""
        ended = self.completed + self.expired
        return Decimal(self.completed * 100) / ended if ended else None

    @property
    def average(self) -> Decimal | None:
        """The price of an average one that was paid; None where none was."""
        return self.volume / self.completed if self.completed else None


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and what its checkouts add up to."""

    day: date
    sums: Sums


@dataclass(frozen=True, slots=True)
class NetworkSum:
    """What was paid on a network."""

    chain: str
    volume: Decimal
    completed: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds from a payment's first sight to its checkout's completion: the median, and what 19 of 20 stay below."""

    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the overview shows of a range of days, and the sums of as many days before."""

    since: date
    until: date
    now: Sums
    before: Sums
    days: tuple[Day, ...]
    networks: tuple[NetworkSum, ...]
    speed: Speed | None
    speed_before: Speed | None

    @property
    def volume_change(self) -> Decimal | None:
        """Per cent more, or less, than in as many days before; None where nothing was paid then."""
        return change_of(self.now.volume, self.before.volume)

    @property
    def completed_change(self) -> Decimal | None:
        """Per cent more, or fewer, paid checkouts than before; None where none was paid then."""
        return change_of(self.now.completed, self.before.completed)

    @property
    def conversion_change(self) -> Decimal | None:
        """Points of per cent more, or less, than before."""
        now, before = self.now.conversion, self.before.conversion
        return None if now is None or before is None else _tenths(now - before)


def change_of(now: Decimal | int, before: Decimal | int) -> Decimal | None:
    """Return how many per cent more, or less, a figure is than before; None where it was nothing."""
    return _tenths((Decimal(now) / before - 1) * 100) if before else None


def _tenths(amount: Decimal) -> Decimal:
    # A change that is too small to be written is none, of either sign.
    return amount.quantize(_TENTH) + 0


def figures_of(seat: Seat, *, days: int, today: date) -> Figures:
    """Read what a merchant's checkouts of a mode brought in so many days up to today, today included."""
    since = today - timedelta(days=days - 1)
    begin = since - timedelta(days=days)
    rows = _rows(seat, since=begin, until=today)
    by_day: dict[date, Sums] = defaultdict(Sums)
    by_chain: dict[str, Sums] = defaultdict(Sums)
    before = Sums()
    for day, chain, sums in rows:
        if day < since:
            before += sums
            continue
        by_day[day] += sums
        if chain:
            by_chain[chain] += sums
    return Figures(
        since=since,
        until=today,
        now=sum(by_day.values(), Sums()),
        before=before,
        days=_days(by_day, since, days),
        networks=_networks(by_chain),
        speed=_speed(seat, since),
        speed_before=_speed(seat, begin, until=since),
    )


def _rows(seat: Seat, *, since: date, until: date) -> Iterable[tuple[date, str, Sums]]:
    kept = DailyTotal.objects.filter(
        merchant=seat.merchant, mode=seat.mode, day__gte=since, day__lte=until
    )
    grouped = kept.values("day", "chain").annotate(
        made=Sum("created"),
        paid=Sum("completed"),
        lost=Sum("expired"),
        usd=Sum("volume"),
    )
    for row in grouped.order_by():
        sums = Sums(int(row["made"]), int(row["paid"]), int(row["lost"]), row["usd"])
        yield row["day"], row["chain"], sums


def _days(by_day: Mapping[date, Sums], since: date, days: int) -> tuple[Day, ...]:
    dates = [since + timedelta(days=number) for number in range(days)]
    return tuple(Day(day, by_day.get(day, Sums())) for day in dates)


def _networks(by_chain: Mapping[str, Sums]) -> tuple[NetworkSum, ...]:
    ranked = sorted(by_chain.items(), key=lambda item: -item[1].volume)
    return tuple(
        NetworkSum(chain, sums.volume, sums.completed) for chain, sums in ranked
    )


_SPEED = """
    SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY extract(epoch FROM c.paid_at - first.seen_at)::float8)
    FROM (
        SELECT id, paid_at FROM checkouts_checkout
        WHERE merchant_id = %s AND mode = %s AND status = %s AND id <= %s
        ORDER BY id DESC LIMIT %s
    ) c
    CROSS JOIN LATERAL (
        SELECT min(t.detected_at) AS seen_at FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
        WHERE p.checkout_id = c.id
    ) first
    WHERE c.paid_at >= %s::date::timestamp AT TIME ZONE 'UTC' AND c.paid_at < %s::date::timestamp AT TIME ZONE 'UTC'
        AND first.seen_at <= c.paid_at
"""
_LAST_KEY: Final = 2**63 - 1


def _speed(seat: Seat, since: date, until: date = date.max) -> Speed | None:
    """Return how long crediting took, of the newest that were made before `until` and paid from `since` on."""
    parameters: list[Any] = [
        seat.merchant.pk,
        seat.mode,
        CheckoutStatus.COMPLETED,
        _last_key(seat, until),
        MOST_TIMED,
        since,
        until,
    ]
    with connection.cursor() as cursor:
        cursor.execute(_SPEED, parameters)
        found = cursor.fetchone()[0]
    return Speed(*found) if found else None


def _last_key(seat: Seat, until: date) -> int:
    """Return the key that no checkout made before a day is beyond, as the kept days say."""
    if until == date.max:
        return _LAST_KEY
    kept = DailyTotal.objects.filter(
        merchant=seat.merchant, mode=seat.mode, day__lt=until
    )
    return kept.aggregate(last=Max("last_id"))["last"] or 0
