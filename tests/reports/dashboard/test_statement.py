"""The pages of fees: months that there are, whose they are, and a file that adds up to what its page says."""

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from accounts.fees.service import unvoid
from accounts.models import Merchant
from accounts.states import FeeKind, Mode
from tests.accounts.fee_entries import charged
from tests.dashboard.people import Desk

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OCTOBER = datetime(2026, 10, 15, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _november(merchant: Merchant, viewer: Desk) -> None:
    merchant.created_at = datetime(2025, 1, 5, tzinfo=UTC)
    merchant.save(update_fields=["created_at"])


def page_of(desk: Desk, month: str) -> str:
    """A month's page, in words."""
    with time_machine.travel(NOW, tick=False):
        answer = desk.get("dashboard_statement", month=month)
    assert answer.status_code == 200
    return " ".join(answer.text.split())


def file_of(desk: Desk, month: str) -> list[dict[str, str]]:
    """A month's file."""
    answer = desk.get("dashboard_statement_csv", month=month)
    text = answer.getvalue().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_viewer_reads_the_statement_of_a_month(viewer: Desk) -> None:
    merchant = viewer.merchant
    charged(merchant, at=OCTOBER, voided_at=OCTOBER + timedelta(days=1))
    charged(merchant, "1250.00", at=OCTOBER, kind=FeeKind.X402, chain="polygon")
    september, june = (OCTOBER - timedelta(days=days) for days in (30, 120))
    charged(merchant, "40.00", at=june, voided_at=september, again_at=OCTOBER)
    page = page_of(viewer, "2026-10")
    for words in (
        merchant.public_id,
        "Starter, 1.5 %",
        "1 October 2026 to 31 October 2026, UTC",
        "Machine payments",
        "USDC on Polygon",
        "−0.375056",
        "Reversed, charged in October 2026",
        "Charged again, first in June 2026",
        "19.35 USD",
    ):
        assert words in page
    assert "so far" not in page


def test_a_month_that_is_not_over_says_so(viewer: Desk) -> None:
    charged(viewer.merchant, at=NOW - timedelta(hours=1))
    page = page_of(viewer, "2026-11")
    assert "Statement of November 2026, so far" in page
    assert "1 November 2026 to 20 November 2026, 12:00, UTC" in page
    assert "Nothing to pay" in page_of(viewer, "2026-10")


@pytest.mark.parametrize("month", ["2026-12", "9999-12", "2024-12", "0000-01", "2026-13", "x", "202610"])
def test_a_month_that_is_none_of_the_merchants_is_not_found(viewer: Desk, month: str) -> None:
    with time_machine.travel(NOW, tick=False):
        for name in ("dashboard_statement", "dashboard_statement_csv"):
            assert viewer.get(name, month=month).status_code == 404


def test_months_are_listed_back_to_the_first_one(viewer: Desk) -> None:
    charged(viewer.merchant, at=OCTOBER)
    shown = []
    query = ""
    with time_machine.travel(NOW, tick=False):
        while True:
            page = viewer.get("dashboard_fees", query and f"?{query}").context
            shown += [(str(line.month), line.total) for line in page["months"]]
            if not (query := page["pager"].older):
                break
        assert page["pager"].newer == "until=2026-11"
        for nonsense in ("?until=x", "?until=9999-12", "?until=0000-01"):
            page = viewer.get("dashboard_fees", nonsense).context
            assert str(page["months"][0].month) == "2026-11"
    assert [month for month, _ in shown] == [
        f"{year}-{number:02}" for year, last in ((2026, 11), (2025, 12)) for number in range(last, 0, -1)
    ]
    assert {month: total for month, total in shown if total} == {"2026-10": Decimal("0.38")}


def test_the_file_of_a_month_adds_up_to_its_page(viewer: Desk) -> None:
    merchant = viewer.merchant
    september = charged(merchant, at=OCTOBER - timedelta(days=30), voided_at=OCTOBER, token="USDT")
    october = charged(merchant, "1250.00", at=OCTOBER)
    unvoid(FeeKind.CHECKOUT, [september.subject_id], now=OCTOBER + timedelta(hours=1))
    first, second, third = file_of(viewer, "2026-10")
    assert first == {
        "time": "2026-10-15T12:00:00.000000Z",
        "entry": "fee",
        "kind": "checkout",
        "id": october.subject_id,
        "network": "base",
        "token": "USDC",
        "received": "1250.000000",
        "rate": "0.01500",
        "fee": "18.750000",
        "charged_at": "2026-10-15T12:00:00.000000Z",
    }
    assert (second["entry"], second["id"]) == ("taken_back", september.subject_id)
    assert (second["received"], second["fee"]) == ("-25.003700", "-0.375056")
    assert (third["entry"], third["fee"]) == ("charged_again", "0.375056")
    assert third["charged_at"] == second["charged_at"] != third["time"]
    assert "18.75 USD" in page_of(viewer, "2026-10")


def test_fees_are_the_merchants_own(viewer: Desk, stranger: Desk) -> None:
    charged(stranger.user.memberships.get().merchant, at=OCTOBER)
    assert file_of(viewer, "2026-10") == []


def test_test_mode_has_a_plan_and_no_statements(viewer: Desk) -> None:
    charged(viewer.merchant, at=OCTOBER)
    viewer.mode = Mode.TEST
    page = viewer.get("dashboard_fees")
    assert page.context["months"] == []
    assert "Test mode costs nothing" in page.text
    for name in ("dashboard_statement", "dashboard_statement_csv"):
        assert viewer.get(name, month="2026-10").status_code == 404


def test_a_page_asks_the_same_questions_however_many_fees_there_are(
    viewer: Desk, django_assert_max_num_queries: object
) -> None:
    for number in range(10):
        charged(viewer.merchant, f"{number}.00", at=OCTOBER, voided_at=OCTOBER)
    # Two of them look for trouble of networks, as on every page.
    with django_assert_max_num_queries(13):  # type: ignore[operator]
        page_of(viewer, "2026-10")
