"""The overview page: figures, chart, notices, onboarding, and the latest payments, which streams update."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from decimal import Decimal
from hashlib import blake2b
from typing import Final

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.merchants.time_zones import zone_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.amounts import CAPACITY
from checkouts.dashboard.attention import SHORT_FROM, capacities_of, notices_of
from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.dashboard.overview import RANGES, CheckoutTotals, Figures, change_of, figures_of, onboarding_of
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from gateway.core.postgres.replica import reads_replica
from gateway.core.times import parse_day, today_in
from payouts.dashboard.attention import payout_notices
from wallets.networks import chain_spec
from x402.dashboard.sums import MachineDay, machine_days

_NOTHING = Decimal(0)
# The round values of a chart line, times a power of ten.
_STEPS: Final = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_LINES: Final = 4

_MOST_SHOWN: Final = 8
# With HTTP/1.1 a browser opens six connections to a host, and a page needs some for itself.
_MOST_FOLLOWED: Final = 4
_WITH_MONEY: Final = (CheckoutStatus.COMPLETED, CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID)

_USUAL_DAYS = 30
MOST_DAYS: Final = 366
"""How many days the overview shows at most."""


@dataclass(frozen=True, slots=True)
class ChartDay:
    """A day. The shares are in per mille of the axis, whose top exceeds every day's total."""

    day: date
    sums: CheckoutTotals
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
    """The days with checkouts' and machines' payments, the best day's volume, and the networks, the busiest first.

    `machines_before` is what machines paid in the same number of days before.
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


def chart_of(seat: Seat, figures: Figures, *, zone: tzinfo) -> Chart:
    """Combine machines' payments with the checkouts of the same days."""
    by_day: dict[date, MachineDay] = defaultdict(MachineDay)
    by_chain = defaultdict(Decimal, {network.chain: network.volume for network in figures.networks})
    before = MachineDay()
    begin = figures.since - timedelta(days=len(figures.days))
    for part in machine_days(seat, since=begin, until=figures.until, zone=zone):
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


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest checkouts with money, and the stream addresses of those that may change next."""

    rows: Sequence[ListedCheckout]
    streams: Sequence[str]

    def digest(self) -> str:
        """Return a digest of everything shown and followed; it changes whenever the page looks different."""
        return blake2b(repr(self).encode(), digest_size=12).hexdigest()


def latest_of(seat: Seat) -> Latest:
    """Return the latest payments: each status is a short index look-up.

    Followed are payments on their way and the newest checkouts that wait for one, four at most.
    """
    paid = [one for status in _WITH_MONEY for one in _newest(seat, status, _MOST_SHOWN)]
    shown = sorted(paid, key=lambda checkout: -checkout.pk)[:_MOST_SHOWN]
    moving = [checkout for checkout in shown if not checkout.is_final]
    waiting = _newest(seat, CheckoutStatus.PENDING, _MOST_FOLLOWED)
    return Latest(rows=listed(shown), streams=[_stream(one) for one in [*moving, *waiting][:_MOST_FOLLOWED]])


def _newest(seat: Seat, status: CheckoutStatus, most: int) -> list[Checkout]:
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    return list(mine.filter(status=status).order_by("-pk")[:most])


def _stream(checkout: Checkout) -> str:
    path: str = reverse("checkout-stream", args=[checkout.code])
    return f"{settings.STREAM_URL}{path}"


@dataclass(frozen=True, slots=True)
class _Span:
    """The days that are shown, both ends included. `named` is their number where they end today and are one of RANGES; else 0."""

    since: date
    until: date
    named: int = 0

    @property
    def days(self) -> int:
        """Return how many they are."""
        return (self.until - self.since).days + 1


def _span(query: Mapping[str, str], today: date) -> _Span:
    """Return the days that an address asks for: `from` and `to`, or `days` up to today. At most MOST_DAYS, none after today."""
    since, until = (parse_day(query.get(name, "")) for name in ("from", "to"))
    if since is not None and since <= today:
        until = min(until or today, today, since + timedelta(days=MOST_DAYS - 1))
        if since <= until:
            return _Span(since, until)
    asked = query.get("days", "")
    days = int(asked) if asked in {str(days) for days, _ in RANGES} else _USUAL_DAYS
    return _Span(today - timedelta(days=days - 1), today, days)


@seated(get=Act.SEE)
@reads_replica
def overview(request: SeatedRequest) -> HttpResponse:
    """Show the merchant's overview."""
    now = timezone.now()
    zone = zone_of(request.seat.merchant)
    span = _span(request.GET, today_in(zone, now=now))
    figures = figures_of(request.seat, since=span.since, until=span.until, zone=zone)
    capacities = capacities_of(request.seat)
    context = {
        "ranges": [(range_of_days, gettext(label)) for range_of_days, label in RANGES],
        "span": span,
        "days": span.days,
        "zone": zone,
        "figures": figures,
        "chart": chart_of(request.seat, figures, zone=zone),
        "notices": [*notices_of(request.seat, capacities, now=now), *payout_notices(request.seat)],
        "capacities": [one for one in capacities if one.is_shown],
        "capacity": CAPACITY,
        "short_from": SHORT_FROM,
        "onboarding": onboarding_of(request.seat),
        "latest": latest_of(request.seat),
    }
    return render(request, "dashboard/reports/overview.html", context)


@seated(get=Act.SEE)
def latest(request: SeatedRequest) -> HttpResponse:
    """Return the latest payments; empty if nothing changed."""
    shown = latest_of(request.seat)
    if request.GET.get("seen") == shown.digest():
        return HttpResponse(status=204)
    return render(request, "dashboard/reports/_overview_latest.html", {"latest": shown})
