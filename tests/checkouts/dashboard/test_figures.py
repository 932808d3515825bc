"""What the overview adds up, and what it compares that with."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.states import Mode
from checkouts.lifecycle.totals import rebuild
from checkouts.models import Checkout, DailyTotal
from tests.checkouts.factories import make_completed, make_expired
from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk
from wallets.selectors import forget

pytestmark = pytest.mark.django_db


def sum_up() -> None:
    """Keep the sums of what a test's factories wrote."""
    rebuild(since=date(2020, 1, 1), until=date(2040, 1, 1))


def figures(desk: Desk, query: str = "") -> Any:
    """What the overview shows."""
    page = desk.get("dashboard_overview", query)
    assert page.status_code == 200
    return page.context["figures"]


def make_paid_on(desk: Desk, days_ago: int, amount: str = "10.00") -> Checkout:
    """A checkout that was paid so many days ago, ten seconds after its money was seen."""
    then = timezone.now() - timedelta(days=days_ago)
    checkout = make_completed(merchant=desk.merchant, amount=Decimal(amount), created_at=then)
    checkout.paid_at = then
    checkout.save()
    checkout.payments.update(credited_at=then)
    transfer = checkout.payments.get().transfer
    transfer.detected_at = then - timedelta(seconds=10)
    transfer.save()
    return checkout


def test_the_figures_are_those_of_the_merchants_days(owner: Desk) -> None:
    for amount in ("10.01", "20.00"):
        make_paid_on(owner, 0, amount)
    make_paid_on(owner, 6, "5.00")
    make_paid_on(owner, 7, "1.00")
    make_expired(merchant=owner.merchant)
    make_completed()
    make_completed(merchant=owner.merchant, mode=Mode.TEST)
    sum_up()
    shown = figures(owner, "?days=7")
    assert (shown.now.volume, shown.now.completed) == (Decimal("35.01"), 3)
    assert (shown.now.created, shown.now.conversion) == (4, 75)
    assert shown.before.volume == Decimal("1.00")
    assert [str(day.sums.volume) for day in shown.days][-1] == "30.01"
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    # Four lines of ten dollars.
    assert (len(shown.days), chart.days[-1].share, chart.best) == (7, 750, Decimal("30.01"))
    assert chart.ticks == [40, 30, 20, 10, 0]
    assert [(one.chain, one.completed) for one in shown.networks] == [("base", 3)]
    assert shown.speed.median == 10
    assert figures(owner, "?days=90").now.completed == 4
    assert len(figures(owner, "?days=nonsense").days) == 30


def test_each_figure_is_compared_with_as_many_days_before(owner: Desk) -> None:
    now = timezone.now()
    for days_ago in (0, 1, 2, 8):
        make_paid_on(owner, days_ago)
    for days_ago, units in ((0, 30_000), (9, 20_000)):
        make_machine_payment(owner.merchant, units, mode=Mode.TEST, now=now - timedelta(days=days_ago))
    sum_up()
    page = owner.get("dashboard_overview", "?days=7")
    shown = page.context["figures"]
    assert (shown.now.completed, shown.before.completed) == (3, 1)
    assert shown.completed_change == 200
    assert shown.volume_change == 200
    assert shown.speed_before.median == 10
    assert "+200.0%" in page.text
    assert "in prior 7 days" in page.text
    owner.mode = Mode.TEST
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.machines_before.count) == (1, 1)
    assert chart.machines_change == 50


def test_nothing_is_compared_with_days_without_payments(owner: Desk) -> None:
    make_paid_on(owner, 0)
    sum_up()
    page = owner.get("dashboard_overview", "?days=7")
    assert page.context["figures"].completed_change is None
    assert page.context["figures"].speed_before is None
    assert "prior 7 days" not in page.text


def test_an_empty_account_has_figures_too(viewer: Desk) -> None:
    page = viewer.get("dashboard_overview")
    assert "No payments yet" in page.text
    assert page.context["figures"].now.conversion is None
    assert "New checkout" not in page.text


def test_figures_cost_the_same_however_many_checkouts_there_are(owner: Desk) -> None:
    make_paid_on(owner, 0)
    sum_up()
    assert DailyTotal.objects.exists()
    owner.get("dashboard_overview")
    # What is remembered for seconds would be asked again by the second of two slow requests.
    forget()
    with CaptureQueriesContext(connection) as few:
        owner.get("dashboard_overview")
    for _ in range(5):
        make_paid_on(owner, 0)
    forget()
    with CaptureQueriesContext(connection) as many:
        owner.get("dashboard_overview")
    assert len(many) == len(few)
    counted = [query["sql"] for query in many if "count(" in query["sql"].lower()]
    assert [sql for sql in counted if 'FROM "checkouts_checkout"' in sql] == []
