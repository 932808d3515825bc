"""The overview: what it adds up, what it warns of, what it asks a new merchant to do."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.states import Mode, Role
from checkouts.lifecycle.totals import rebuild
from checkouts.models import (
    Checkout,
    CheckoutCount,
    DailyTotal,
    InboxItem,
)
from checkouts.states import CheckoutStatus, InboxReason
from tests.checkouts.factories import (
    make_completed,
    make_expired,
    make_page_checkout,
    make_seen,
    move,
    pay,
)
from tests.dashboard.inboxes import reverse_a_payment
from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk, make_desk
from tests.factories import (
    LOCAL_NODES,
    make_key,
    make_live_chain,
    make_wallet,
)
from wallets.selectors import forget
from webhooks.models import Endpoint

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
    checkout = make_completed(
        merchant=desk.merchant, amount=Decimal(amount), created_at=then
    )
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
    assert (len(shown.days), chart.days[-1].share, chart.best) == (
        7,
        750,
        Decimal("30.01"),
    )
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
        make_machine_payment(
            owner.merchant,
            units,
            mode=Mode.TEST,
            now=now - timedelta(days=days_ago),
        )
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


def test_a_payment_that_was_taken_back_is_told_first(owner: Desk) -> None:
    reverse_a_payment(owner)
    notices = owner.get("dashboard_overview").context["notices"]
    assert notices[0].heading == "A payment was taken back by the network."
    assert notices[0].tone == "bad"
    # It is not counted among what waits as well.
    assert not [one for one in notices if "in your inbox" in one.heading]


def test_the_latest_payments_name_what_may_move_next_and_say_nothing_twice(
    owner: Desk, stranger: Desk
) -> None:
    seen = make_seen(merchant=owner.merchant)
    make_completed(merchant=owner.merchant)
    waiting = [make_page_checkout(owner.merchant) for _ in range(5)]
    latest = owner.get("dashboard_overview").context["latest"]
    assert len(latest.rows) == 2
    followed = [seen, *reversed(waiting)][:4]
    assert latest.streams == [f"/c/{one.code}/stream" for one in followed]
    query = f"?seen={latest.digest()}"
    assert owner.get("dashboard_latest", query).status_code == 204
    move(seen, CheckoutStatus.COMPLETED)
    fresh = owner.get("dashboard_latest", query)
    assert fresh.status_code == 200
    assert seen.code not in fresh.text
    assert stranger.get("dashboard_latest").status_code == 404


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


def test_what_wants_attention_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    assert "You have no receiving wallet" in owner.get("dashboard_overview").text
    make_wallet(owner.merchant)
    make_live_chain("base", halted_reason="a fork")
    checkout = make_expired(merchant=owner.merchant)
    transfer = pay(checkout)
    checkout.payments.all().delete()
    InboxItem.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        transfer=transfer,
        reason=InboxReason.LATE,
        explanation="late",
        created_at=timezone.now(),
    )
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/hook",
        consecutive_failures=9,
        is_default=True,
    )
    # Given up by the merchant, and nothing waits for it: that it fails concerns nobody.
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/old",
        consecutive_failures=9,
    )
    headings = [
        notice.heading for notice in owner.get("dashboard_overview").context["notices"]
    ]
    assert headings == [
        "1 payment waits in your inbox.",
        "A webhook address does not answer.",
        "Base cannot be read now.",
    ]


def test_a_network_that_is_behind_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base", head_at=timezone.now() - timedelta(seconds=45))
    [notice] = owner.get("dashboard_overview").context["notices"]
    assert notice.heading == "Base is delayed."


def test_what_is_well_is_not_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    assert owner.get("dashboard_overview").context["notices"] == []


def test_the_checklist_goes_on_until_all_is_done(owner: Desk, viewer: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    assert [task.is_done for task in tasks] == [True, True, *[False] * 5]
    make_wallet(owner.merchant)
    make_key(owner.merchant, Mode.TEST)
    make_completed(merchant=owner.merchant, mode=Mode.TEST)
    _count_completed(owner)
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://x.example",
        is_default=True,
    )
    page = owner.get("dashboard_overview")
    assert "6 of 7 done" in page.text
    Authenticator.objects.create(user=owner.user, type=Authenticator.Type.TOTP, data={})
    assert "Set up your account" not in owner.get("dashboard_overview").text
    assert "Set up your account" not in viewer.get("dashboard_overview").text


def _count_completed(desk: Desk) -> None:
    CheckoutCount.objects.filter(merchant=desk.merchant).update(status="completed")


def test_the_first_test_checkout_is_made_in_test_mode(owner: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    [task] = [one for one in tasks if "test checkout" in one.label]
    in_test = make_desk(owner.merchant, Role.ADMIN, Mode.TEST)
    assert task.url == in_test.url("dashboard_new_checkout")


def test_strangers_see_nothing(stranger: Desk) -> None:
    assert stranger.get("dashboard_overview").status_code == 404


def test_what_strangers_write_is_shown_as_text(owner: Desk) -> None:
    hostile = "<script>alert(1)</script>"
    checkout = make_page_checkout(owner.merchant, description=hostile, order_ref="")
    checkout.status, checkout.paid_at = "completed", timezone.now()
    checkout.save()
    page = owner.get("dashboard_overview").text
    assert "&lt;script&gt;alert" in page
    assert hostile not in page
