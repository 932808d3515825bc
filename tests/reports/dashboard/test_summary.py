"""The page of reports: which days it adds up, whose, and the file of them."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.states import CheckoutStatus
from reports.dashboard.overview import step_of
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen, move
from tests.dashboard.people import Desk
from tests.reports.takings import earn, lose, now_and, receive, see

pytestmark = pytest.mark.django_db


def test_reports_add_up_the_days_that_are_asked_for(owner: Desk) -> None:
    earn(owner.merchant, 10_000_000, **now_and())
    receive(owner.merchant, 5_000_000, chain="polygon", token="USDT", **now_and(-10))
    receive(owner.merchant, 1_000_000, **now_and(-60))
    see(owner.merchant, 500_000, **now_and())
    lose(owner.merchant, 2_000_000, **now_and())
    for query, received in (("?days=7", 10), ("", 15), ("?days=90", 16), ("?days=8", 15)):
        total = owner.get("dashboard_reports", query).context["total"]
        assert total.received == received
    page = owner.get("dashboard_reports")
    assert [line.name for line in page.context["tokens"]] == ["USDC on Base", "USDT on Polygon"]
    assert [line.received for _, line in page.context["by_day"]] == [10, 5]
    assert page.context["total"].unconfirmed == Decimal("0.5")


def test_reports_are_the_merchants_own_of_the_mode(owner: Desk, stranger: Desk) -> None:
    receive(stranger.user.memberships.get().merchant, **now_and())
    receive(owner.merchant, mode=Mode.TEST, **now_and())
    assert owner.get("dashboard_reports").context["total"].count == 0


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("?from=2026-11-01&to=2026-11-20", ("2026-11-01", "2026-11-20")),
        ("?from=2026-11-20&to=2026-11-01", ("2026-11-01", "2026-11-20")),
        ("?to=2026-11-30", ("2026-11-01", "2026-11-30")),
        ("?from=2020-01-01&to=2026-11-20", ("2025-11-20", "2026-11-20")),
        ("?to=2000-01-02", ("1999-12-04", "2000-01-02")),
        ("?to=2999-12-31", ("2999-12-02", "2999-12-31")),
        ("?from=2030-01-01&to=0001-01-01", ("2030-01-01", "2030-01-01")),
        ("?from=9999-12-31&to=2026-11-20", ("2026-10-22", "2026-11-20")),
    ],
)
@pytest.mark.usefixtures("evening")
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_any_two_days_make_a_range(owner: Desk, zone: str, query: str, days: tuple[str, str]) -> None:
    owner.merchant.time_zone = zone
    owner.merchant.save(update_fields=["time_zone"])
    found = owner.get("dashboard_reports", query).context["days"]
    assert (found.since.isoformat(), found.until.isoformat()) == days


def test_the_last_day_of_a_range_is_in_it(owner: Desk) -> None:
    transfer = receive(owner.merchant)
    day = transfer.block_time.date()
    query = f"?from={day}&to={day}"
    assert owner.get("dashboard_reports", query).context["total"].count == 1
    assert transfer.tx_hash in _file(owner, query)
    before = day - timedelta(days=1)
    assert transfer.tx_hash not in _file(owner, f"?from={before}&to={before}")


def test_a_viewer_saves_the_file_too(viewer: Desk) -> None:
    transfer = earn(viewer.merchant, order_ref="=1+1", **now_and())
    assert ",'=1+1,,checkout," in _file(viewer)
    assert transfer.payment.checkout.public_id in _file(viewer)


def _file(desk: Desk, query: str = "") -> str:
    answer = desk.get("dashboard_reports_csv", query)
    assert answer.status_code == 200
    text: str = answer.getvalue().decode("utf-8-sig")
    return text


# The overview's chart.


@pytest.mark.parametrize(
    ("best", "step"), [("0", "0"), ("0.01", "0.0025"), ("4", "1"), ("30.01", "10"), ("3050", "1000")]
)
def test_an_axis_counts_in_round_amounts(best: str, step: str) -> None:
    assert step_of(Decimal(best)) == Decimal(step)


# The overview.


def test_what_strangers_write_is_shown_as_text(owner: Desk) -> None:
    hostile = "<script>alert(1)</script>"
    checkout = make_page_checkout(owner.merchant, description=hostile, order_ref="")
    checkout.status, checkout.paid_at = "completed", timezone.now()
    checkout.save()
    page = owner.get("dashboard_overview").text
    assert "&lt;script&gt;alert" in page
    assert hostile not in page


# The latest payments of the overview.


def test_the_latest_payments_name_what_may_move_next_and_say_nothing_twice(owner: Desk) -> None:
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
