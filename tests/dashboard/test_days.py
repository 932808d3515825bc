"""A day on a page is the merchant's: around midnight, where clocks change, in the rows, the times, the sums and the CSV."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from accounts.states import Mode
from checkouts.dashboard.overview import CheckoutTotals
from checkouts.models import Checkout, Payment
from tests.checkouts.factories import make_completed, make_expired
from tests.dashboard.machines import make_machine_payment, of_transfer
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout
from tests.reports.takings import earn, receive
from tests.totals import rebuild
from x402.dashboard.sums import MachineDay

pytestmark = pytest.mark.django_db

MOMENT, DAY = timedelta(microseconds=1), timedelta(days=1)
DAYS = [
    ("UTC", "2026-11-19", "2026-11-19T00:00", "2026-11-20T00:00"),
    ("Pacific/Auckland", "2026-11-20", "2026-11-19T11:00", "2026-11-20T11:00"),
    # 23 hours: clocks go forward.
    ("Pacific/Auckland", "2026-09-27", "2026-09-26T12:00", "2026-09-27T11:00"),
    ("America/Los_Angeles", "2026-11-19", "2026-11-19T08:00", "2026-11-20T08:00"),
    # 25 hours: clocks go back.
    ("America/Los_Angeles", "2026-11-01", "2026-11-01T07:00", "2026-11-02T08:00"),
]
"""Time zones, a day of each, and between which times of UTC it is."""

on_each_day = pytest.mark.parametrize(("zone", "day", "begins", "ends"), DAYS)


@pytest.fixture(autouse=True)
def _at_noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


def moments(begins: str, ends: str) -> dict[str, datetime]:
    """The last moment before a day, its first and last, and the first after it."""
    first, after = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (begins, ends))
    return {"before": first - MOMENT, "first": first, "last": after - MOMENT, "after": after}


def move_to(desk: Desk, zone: str) -> None:
    """Let the merchant be in a time zone."""
    desk.merchant.time_zone = zone
    desk.merchant.save(update_fields=["time_zone"])


def file_of(desk: Desk, name: str, query: str) -> list[dict[str, str]]:
    """The rows of a page's CSV."""
    answer = desk.get(name, query)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig"))))


def day_is_printed(page: Any, zone: str, day: str) -> bool:
    """Whether a page's newest and oldest row have the day's last and first minute, below a heading with the time zone."""
    written = f"{datetime.fromisoformat(day):%-d %b %Y}"
    return f", {zone}</th>" in page.text and f">{written}, 23:59<" in page.text and f">{written}, 00:00<" in page.text


@on_each_day
def test_checkouts_are_listed_by_the_merchants_day_of_creation(
    owner: Desk, zone: str, day: str, begins: str, ends: str
) -> None:
    move_to(owner, zone)
    for name, moment in moments(begins, ends).items():
        make_checkout(owner.merchant, order_ref=name, created_at=moment)
    query = f"?from={day}&to={day}"
    page = owner.get("dashboard_checkouts", query)
    assert [row.title for row in page.context["rows"]] == ["last", "first"]
    assert day_is_printed(page, zone, day)
    assert f"Days and times are in {zone}." in page.text
    assert [row["order_ref"] for row in file_of(owner, "dashboard_checkouts_csv", query)] == ["last", "first"]
    since = owner.get("dashboard_checkouts", f"?from={day}").context["rows"]
    assert [row.title for row in since] == ["after", "last", "first"]
    until = owner.get("dashboard_checkouts", f"?to={day}").context["rows"]
    assert [row.title for row in until] == ["last", "first", "before"]


@on_each_day
def test_checkouts_are_listed_by_the_merchants_day_of_payment(
    owner: Desk, zone: str, day: str, begins: str, ends: str
) -> None:
    move_to(owner, zone)
    for name, moment in moments(begins, ends).items():
        made = make_completed(merchant=owner.merchant, order_ref=name)
        Checkout.objects.filter(pk=made.pk).update(paid_at=moment)
    query = f"?by=paid&from={day}&to={day}"
    page = owner.get("dashboard_checkouts", query)
    assert [row.title for row in page.context["rows"]] == ["last", "first"]
    assert day_is_printed(page, zone, day)
    assert {row["order_ref"] for row in file_of(owner, "dashboard_checkouts_csv", query)} == {"last", "first"}


@pytest.mark.parametrize(
    ("zone", "midnight"), [("UTC", "00:00"), ("Pacific/Auckland", "11:00"), ("America/Los_Angeles", "08:00")]
)
def test_paid_today_is_since_the_merchants_midnight(owner: Desk, zone: str, midnight: str) -> None:
    move_to(owner, zone)
    begins = datetime.fromisoformat(f"2026-11-20T{midnight}").replace(tzinfo=UTC)
    for name, moment in (("yesterday", begins - MOMENT), ("today", begins)):
        made = make_completed(merchant=owner.merchant, order_ref=name)
        Checkout.objects.filter(pk=made.pk).update(paid_at=moment)
    for name in ("today", "yesterday"):
        rows = owner.get("dashboard_checkouts", f"?by=paid&days={name}").context["rows"]
        assert [row.title for row in rows] == [name]


@pytest.mark.parametrize(
    ("zone", "midnight"), [("UTC", "00:00"), ("Pacific/Auckland", "11:00"), ("America/Los_Angeles", "08:00")]
)
def test_payments_of_today_are_since_the_merchants_midnight(owner: Desk, zone: str, midnight: str) -> None:
    move_to(owner, zone)
    begins = datetime.fromisoformat(f"2026-11-20T{midnight}").replace(tzinfo=UTC)
    made = {
        name: earn(owner.merchant, block_time=moment).tx_hash
        for name, moment in (("yesterday", begins - MOMENT), ("today", begins))
    }
    for name, tx_hash in made.items():
        page = owner.get("dashboard_payments", f"?days={name}")
        assert [row.tx_hash for row in page.context["rows"]] == [tx_hash]
        # A filter that is set is shown; without one, phones fold the form.
        assert '<details class="fold fold--filters" open>' in page.text
    assert '<details class="fold fold--filters" >' in owner.get("dashboard_payments").text


@on_each_day
def test_payments_are_listed_by_the_merchants_day(owner: Desk, zone: str, day: str, begins: str, ends: str) -> None:
    move_to(owner, zone)
    made = {name: earn(owner.merchant, block_time=moment).tx_hash for name, moment in moments(begins, ends).items()}
    wanted = [made["last"], made["first"]]
    query = f"?from={day}&to={day}"
    page = owner.get("dashboard_payments", query)
    assert [row.tx_hash for row in page.context["rows"]] == wanted
    assert day_is_printed(page, zone, day)
    assert f"Days and times are in {zone}." in page.text
    assert [row["tx_hash"] for row in file_of(owner, "dashboard_payments_csv", query)] == wanted


@on_each_day
def test_machines_payments_of_test_mode_are_listed_by_the_merchants_day(
    owner_in_test_mode: Desk, zone: str, day: str, begins: str, ends: str
) -> None:
    desk = owner_in_test_mode
    move_to(desk, zone)
    made = {
        name: make_machine_payment(desk.merchant, mode=Mode.TEST, now=moment).tx_hash
        for name, moment in moments(begins, ends).items()
    }
    page = desk.get("dashboard_payments", f"?from={day}&to={day}")
    assert [row.tx_hash for row in page.context["rows"]] == [made["last"], made["first"]]
    assert day_is_printed(page, zone, day)


@on_each_day
def test_reports_add_up_the_merchants_days(owner: Desk, zone: str, day: str, begins: str, ends: str) -> None:
    move_to(owner, zone)
    made = {name: earn(owner.merchant, block_time=moment).tx_hash for name, moment in moments(begins, ends).items()}
    query = f"?from={day}&to={day}"
    page = owner.get("dashboard_reports", query)
    assert (page.context["total"].count, page.context["total"].received) == (2, 50)
    [(only, line)] = page.context["by_day"]
    assert (only.isoformat(), line.count, line.credited) == (day, 2, 2)
    written = f"{datetime.fromisoformat(day):%-d %b %Y}"
    assert f"{written} to {written}, {zone}" in page.text
    rows = file_of(owner, "dashboard_reports_csv", query)
    assert [row["tx_hash"] for row in rows] == [made["last"], made["first"]]
    # The day before and the one after have one each.
    around = owner.get("dashboard_reports", f"?to={(only + timedelta(days=1)).isoformat()}").context["by_day"]
    assert [(str(one), line.count) for one, line in around] == [
        (str(only + timedelta(days=1)), 1),
        (day, 2),
        (str(only - timedelta(days=1)), 1),
    ]


@pytest.mark.parametrize(
    ("zone", "today"),
    [("UTC", "2026-11-20"), ("Pacific/Auckland", "2026-11-21"), ("America/Los_Angeles", "2026-11-20")],
)
def test_reports_end_with_the_merchants_today(owner: Desk, zone: str, today: str) -> None:
    move_to(owner, zone)
    assert owner.get("dashboard_reports").context["days"].until.isoformat() == today


@on_each_day
def test_the_overview_adds_up_the_merchants_days(owner: Desk, zone: str, day: str, begins: str, ends: str) -> None:
    move_to(owner, zone)
    for moment in moments(begins, ends).values():
        machines = receive(owner.merchant, 2_000_000, block_time=moment)
        of_transfer(machines)
        Checkout.objects.update(created_at=NOON - timedelta(days=200))
        for made, is_paid in (
            (make_completed(merchant=owner.merchant), True),
            (make_expired(merchant=owner.merchant), False),
        ):
            times = {"paid_at": moment} if is_paid else {"expires_at": moment}
            Checkout.objects.filter(pk=made.pk).update(**times)
            Payment.objects.filter(checkout=made).update(credited_at=moment)
    # Creations have their own moments, because each of the above changed all of those before.
    kept = Checkout.objects.filter(status__in=["completed", "expired"]).order_by("pk")
    for checkout in kept:
        kept.filter(pk=checkout.pk).update(created_at=checkout.paid_at or checkout.expires_at)
    rebuild()
    only = date.fromisoformat(day)
    page = owner.get("dashboard_overview", f"?from={day}&to={day}")
    figures, chart = page.context["figures"], page.context["chart"]
    whole = CheckoutTotals(created=4, completed=2, expired=2, volume=Decimal(98))
    half = CheckoutTotals(created=2, completed=1, expired=1, volume=Decimal(49))
    assert (figures.now, figures.before) == (whole, half)
    assert (chart.machines, chart.machines_before) == (MachineDay(2, Decimal(4)), MachineDay(1, Decimal(2)))
    assert [network.volume for network in chart.networks] == [Decimal(102)]
    assert f"{only:%-d %b %Y}, {zone}" in page.text
    # The day before and the one after have the rest, in the chart of all three.
    around = owner.get("dashboard_overview", f"?from={only - DAY}&to={only + DAY}").context["chart"]
    shown = [(one.day, one.sums, one.machines.count) for one in around.days]
    assert shown == [(only - DAY, half, 1), (only, whole, 2), (only + DAY, half, 1)][: len(shown)]
    assert len(shown) >= 2


@pytest.mark.parametrize(
    ("zone", "midnight"), [("UTC", "00:00"), ("Pacific/Auckland", "11:00"), ("America/Los_Angeles", "08:00")]
)
def test_the_overviews_today_is_since_the_merchants_midnight(owner: Desk, zone: str, midnight: str) -> None:
    move_to(owner, zone)
    begins = datetime.fromisoformat(f"2026-11-20T{midnight}").replace(tzinfo=UTC)
    for moment in (begins - MOMENT, begins):
        made = make_completed(merchant=owner.merchant)
        Checkout.objects.filter(pk=made.pk).update(paid_at=moment)
        made.payments.update(credited_at=moment)
    rebuild()
    figures = owner.get("dashboard_overview", "?days=1").context["figures"]
    assert (figures.now.completed, figures.before.completed) == (1, 1)


@pytest.mark.parametrize(
    ("query", "since", "until", "named"),
    [
        ("", "2026-10-22", "2026-11-20", 30),
        ("?days=7", "2026-11-14", "2026-11-20", 7),
        ("?from=2026-11-01&to=2026-11-10", "2026-11-01", "2026-11-10", 0),
        # Up to today, and a year at most.
        ("?from=2026-11-01", "2026-11-01", "2026-11-20", 0),
        ("?from=2026-11-01&to=2027-01-01", "2026-11-01", "2026-11-20", 0),
        ("?from=2001-01-01&to=2026-11-20", "2001-01-01", "2002-01-01", 0),
        ("?from=2026-11-10&to=2026-11-01", "2026-10-22", "2026-11-20", 30),
        ("?from=2026-12-01", "2026-10-22", "2026-11-20", 30),
        ("?from=x&to=y&days=z", "2026-10-22", "2026-11-20", 30),
    ],
)
def test_the_overview_shows_the_days_that_are_asked_for(
    owner: Desk, query: str, since: str, until: str, named: int
) -> None:
    span = owner.get("dashboard_overview", query).context["span"]
    assert (span.since.isoformat(), span.until.isoformat(), span.named) == (since, until, named)


def test_a_page_without_days_has_times_of_utc(owner: Desk) -> None:
    move_to(owner, "Pacific/Auckland")
    checkout = make_completed(merchant=owner.merchant)
    Checkout.objects.filter(pk=checkout.pk).update(created_at=NOON)
    page = owner.get("dashboard_overview").text
    assert "Created, UTC</th>" in page
    assert ">20 Nov 2026, 12:00<" in page
