"""The overview's figures, read from daily totals, and the steps before a merchant's first payment."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Final, NamedTuple

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.db import connection, connections
from django.db.models import Max, Sum
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from accounts.models import ApiKey
from accounts.states import Mode
from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.lifecycle.counts import VOLUME
from checkouts.models import CheckoutCount, DailyTotal
from checkouts.states import CheckoutStatus
from gateway.core.postgres.replica import read_alias, snapshot
from gateway.core.times import local_day, midnight, stray_times, utc_days
from wallets.models import ReceivingWallet
from webhooks.models import Endpoint

RANGES: Final = (
    (1, gettext_noop("Today")),
    (7, gettext_noop("7 days")),
    (30, gettext_noop("30 days")),
    (90, gettext_noop("90 days")),
)
"""Numbers of days, and their labels in English."""

# Speed is measured over this many of the newest checkouts; reading all would be slow.
MOST_TIMED: Final = 1_000
_TENTH: Final = Decimal("0.1")
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CheckoutTotals:
    """Totals over several days; `volume` is USD."""

    created: int = 0
    completed: int = 0
    expired: int = 0
    volume: Decimal = Decimal(0)

    def __add__(self, other: "CheckoutTotals") -> "CheckoutTotals":
        return CheckoutTotals(
            self.created + other.created,
            self.completed + other.completed,
            self.expired + other.expired,
            self.volume + other.volume,
        )

    @property
    def conversion(self) -> Decimal | None:
        """Return the share of ended checkouts that were paid, in per cent; None if none has ended."""
        ended = self.completed + self.expired
        return Decimal(self.completed * 100) / ended if ended else None

    @property
    def average(self) -> Decimal | None:
        """Return the average price of the paid checkouts; None if there are none."""
        return self.volume / self.completed if self.completed else None


@dataclass(frozen=True, slots=True)
class Day:
    """A day and its totals."""

    day: date
    sums: CheckoutTotals


@dataclass(frozen=True, slots=True)
class NetworkSum:
    """The totals of a network."""

    chain: str
    volume: Decimal
    completed: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds from a payment's first sight to its checkout's completion: the median and the 95th percentile."""

    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The overview's figures for a range of days, and the totals of the same number of days before."""

    since: date
    until: date
    now: CheckoutTotals
    before: CheckoutTotals
    days: tuple[Day, ...]
    networks: tuple[NetworkSum, ...]
    speed: Speed | None
    speed_before: Speed | None

    @property
    def volume_change(self) -> Decimal | None:
        """Return the volume's change in per cent; None if the earlier volume is zero."""
        return change_of(self.now.volume, self.before.volume)

    @property
    def completed_change(self) -> Decimal | None:
        """Return the paid checkouts' change in per cent; None if there were none before."""
        return change_of(self.now.completed, self.before.completed)

    @property
    def conversion_change(self) -> Decimal | None:
        """Return the conversion's change in percentage points."""
        now, before = self.now.conversion, self.before.conversion
        return None if now is None or before is None else _tenths(now - before)


def change_of(now: Decimal | int, before: Decimal | int) -> Decimal | None:
    """Return a figure's change in per cent; None if it was zero."""
    return _tenths((Decimal(now) / before - 1) * 100) if before else None


def _tenths(amount: Decimal) -> Decimal:
    # A change that rounds to zero is shown without a sign.
    return amount.quantize(_TENTH) + 0


def figures_of(seat: Seat, *, since: date, until: date, zone: tzinfo) -> Figures:
    """Return the figures of a merchant and mode for some days of a time zone, both ends included.

    Totals are kept by days of UTC. In another zone, what lies between the midnights of both is read row by row.
    """
    days = (until - since).days + 1
    begin = since - timedelta(days=days)
    with snapshot():
        rows = [*_rows(seat, since=begin, until=until, zone=zone), *_moved(seat, since=begin, until=until, zone=zone)]
    by_day: dict[date, CheckoutTotals] = defaultdict(CheckoutTotals)
    by_chain: dict[str, CheckoutTotals] = defaultdict(CheckoutTotals)
    before = CheckoutTotals()
    for day, chain, sums in rows:
        if not begin <= day <= until:
            continue
        if day < since:
            before += sums
            continue
        by_day[day] += sums
        if chain:
            by_chain[chain] += sums
    return Figures(
        since=since,
        until=until,
        now=sum(by_day.values(), CheckoutTotals()),
        before=before,
        days=_days(by_day, since, days),
        networks=_networks(by_chain),
        speed=_speed(seat, midnight(since, zone), midnight(until + _DAY, zone)),
        speed_before=_speed(seat, midnight(begin, zone), midnight(since, zone)),
    )


def _rows(seat: Seat, *, since: date, until: date, zone: tzinfo) -> Iterable[tuple[date, str, CheckoutTotals]]:
    """Yield the totals of the days of UTC that some days of a time zone touch, each as the day that has its noon."""
    first, last = utc_days(since, until, zone)
    kept = DailyTotal.objects.filter(merchant=seat.merchant, mode=seat.mode, day__gte=first, day__lte=last)
    grouped = kept.values("day", "chain").annotate(
        made=Sum("created"), paid=Sum("completed"), lost=Sum("expired"), usd=Sum("volume")
    )
    for row in grouped.order_by():
        sums = CheckoutTotals(int(row["made"]), int(row["paid"]), int(row["lost"]), row["usd"])
        yield local_day(row["day"], zone), row["chain"], sums


# As `CHECKOUT_DAYS.raw` counts. Keys follow creation, of which there is no index; a day's are in its total.
_STRAYS: Final = f"""
    SELECT s.noon, s.day, f.* FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[], %(noon)s::date[], %(day)s::date[])
        AS s (since, until, noon, day)
    CROSS JOIN LATERAL (
        SELECT min(first_id) AS first_id, max(last_id) AS last_id FROM checkouts_dailytotal
        WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND day = (s.since AT TIME ZONE 'UTC')::date
    ) made
    CROSS JOIN LATERAL (
        SELECT '' AS chain, count(*) AS created, 0 AS completed, 0 AS expired, 0 AS volume FROM checkouts_checkout
        WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND id BETWEEN made.first_id AND made.last_id
          AND created_at >= s.since AND created_at < s.until
        UNION ALL
        SELECT '', 0, 0, count(*), 0 FROM checkouts_checkout
        WHERE merchant_id = %(merchant)s AND mode = %(mode)s AND status = 'expired'
          AND expires_at >= s.since AND expires_at < s.until
        UNION ALL
        SELECT last.chain, 0, count(*), 0, sum(CASE c.exception WHEN 'reversed' THEN 0 ELSE {VOLUME} END)
        FROM checkouts_checkout c
        CROSS JOIN LATERAL (
            SELECT t.chain FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
        ) last
        WHERE c.merchant_id = %(merchant)s AND c.mode = %(mode)s AND c.paid_at >= s.since AND c.paid_at < s.until
        GROUP BY last.chain
    ) f
"""  # noqa: S608 - a constant


def _moved(seat: Seat, *, since: date, until: date, zone: tzinfo) -> Iterable[tuple[date, str, CheckoutTotals]]:
    """Yield what moves the totals of `_rows` to the days of the time zone: less on one day, and as much more beside it."""
    moved = stray_times(since, until, zone)
    if not moved:
        return
    columns = {name: [getattr(one, name) for one in moved] for name in ("since", "until", "noon", "day")}
    with connections[read_alias()].cursor() as cursor:
        cursor.execute(_STRAYS, columns | {"merchant": seat.merchant.pk, "mode": str(seat.mode)})
        rows = cursor.fetchall()
    for noon, day, chain, created, completed, expired, volume in rows:
        yield noon, chain, CheckoutTotals(-created, -completed, -expired, -volume)
        yield day, chain, CheckoutTotals(created, completed, expired, volume)


def _days(by_day: Mapping[date, CheckoutTotals], since: date, days: int) -> tuple[Day, ...]:
    dates = [since + timedelta(days=number) for number in range(days)]
    return tuple(Day(day, by_day.get(day, CheckoutTotals())) for day in dates)


def _networks(by_chain: Mapping[str, CheckoutTotals]) -> tuple[NetworkSum, ...]:
    ranked = sorted(by_chain.items(), key=lambda item: -item[1].volume)
    return tuple(NetworkSum(chain, sums.volume, sums.completed) for chain, sums in ranked)


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
    WHERE c.paid_at >= %s AND c.paid_at < %s
        AND first.seen_at <= c.paid_at
"""


def _speed(seat: Seat, since: datetime, until: datetime) -> Speed | None:
    """Return how long crediting took, for the newest made before `until` and paid from `since` on."""
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


def _last_key(seat: Seat, until: datetime) -> int:
    """Return the greatest key of the checkouts made until the end of the day (UTC) before a time, from the daily totals."""
    last = (until - timedelta.resolution).astimezone(UTC).date()
    kept = DailyTotal.objects.filter(merchant=seat.merchant, mode=seat.mode, day__lte=last)
    return kept.aggregate(last=Max("last_id"))["last"] or 0


class _Task(NamedTuple):
    """A step: whether it is done, and the page to do it on."""

    label: str
    words: str
    is_done: bool
    url: str


@dataclass(frozen=True, slots=True)
class Onboarding:
    """The steps, in order."""

    tasks: tuple[_Task, ...]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(task.is_done for task in self.tasks)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == len(self.tasks)


def onboarding_of(seat: Seat) -> Onboarding | None:
    """Return the onboarding steps; None if all are done, or the person may do none of them."""
    if not seat.can(Act.RUN_PAYMENTS):
        return None
    found = Onboarding((*_account(seat), *_payments(seat), *_safety(seat)))
    return None if found.is_over else found


def _account(seat: Seat) -> list[_Task]:
    emails = EmailAddress.objects.filter(user=seat.user, verified=True)
    return [
        _Task(
            gettext("Name your business"),
            gettext("Buyers see it when they pay."),
            bool(seat.merchant.name),
            seat.url("dashboard_overview"),
        ),
        _Task(
            gettext("Verify your e-mail address"),
            gettext("We send important notices there."),
            emails.exists(),
            reverse("account_security"),
        ),
    ]


def _payments(seat: Seat) -> list[_Task]:
    wallets = ReceivingWallet.objects.of_checkouts().filter(merchant=seat.merchant, retired_at=None)
    keys = ApiKey.objects.filter(merchant=seat.merchant, revoked_at=None)
    paid = CheckoutCount.objects.filter(
        merchant=seat.merchant, mode=Mode.TEST, status=CheckoutStatus.COMPLETED, value__gt=0
    )
    in_test = {"mer_id": seat.merchant.public_id, "mode": Mode.TEST}
    return [
        _Task(
            gettext("Set a receiving wallet"),
            gettext("Buyers' money goes there and nowhere else."),
            wallets.exists(),
            seat.url("dashboard_receiving_wallets"),
        ),
        _Task(
            gettext("Create an API key"),
            gettext("Your shop's server creates checkouts with it."),
            keys.exists(),
            seat.url("dashboard_keys"),
        ),
        _Task(
            gettext("Complete a test checkout"),
            gettext("It is paid automatically after five seconds."),
            paid.exists(),
            reverse("dashboard_new_checkout", kwargs=in_test),
        ),
    ]


def _safety(seat: Seat) -> list[_Task]:
    endpoints = Endpoint.objects.filter(merchant=seat.merchant, is_default=True)
    factors = Authenticator.objects.filter(user=seat.user).exclude(type=Authenticator.Type.RECOVERY_CODES)
    return [
        _Task(
            gettext("Set a webhook URL"),
            gettext("Florin tells your shop there when a checkout is paid."),
            endpoints.exists(),
            seat.url("dashboard_webhooks"),
        ),
        _Task(
            gettext("Switch on a second factor"),
            gettext("A passkey, or codes from an app, beside your password."),
            factors.exists(),
            reverse("account_security"),
        ),
    ]
