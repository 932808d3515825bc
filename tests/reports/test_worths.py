"""Euros that paid checkouts have the worth in reports and months that they had there: to the millionth, in parts, and given back."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api import pagination
from gateway.core.times import today_in
from payouts.approvals.service import approve_payout
from payouts.following.service import accept_amount, follow_movements
from payouts.models import Payout
from reports.accountant import lines
from reports.accountant.lines import Line, LineKind, month_lines
from reports.accountant.places import month_filter
from reports.accountant.sums import TokenMonth, month_sums
from reports.inputs import ReportFilter
from reports.months import month_of
from reports.summaries import Sums, summary_of
from tests.checkouts.euros import DUE, offer_euros, offered, paid
from tests.checkouts.test_euros import refund, sent_back
from tests.checkouts.watcher import Watcher, attribute, fresh, inbox_of
from tests.contract.client import ApiClient
from tests.dashboard.people import make_desk, make_member
from tests.payouts.factories import outflow_for
from tests.rates.playing import store_rates
from tests.reports.accountant.test_files import read
from tests.reports.answers import summary
from wallets.models import Transfer
from wallets.transfers.movements import queue_movements

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def europe(seller: ApiClient, settings: Any) -> ApiClient:
    """A live key of a merchant whose checkouts offer EURC on Base."""
    offer_euros(settings)
    return seller


def merchant_of(shop: ApiClient) -> Merchant:
    assert shop.merchant
    return shop.merchant


def around() -> tuple[datetime, datetime]:
    """A day before and a day after now."""
    return timezone.now() - DAY, timezone.now() + DAY


def usd_values(shop: ApiClient) -> dict[str, str | None]:
    """What the list of transactions says of each."""
    return {row["id"]: row["usd_value"] for row in shop.get("/reports/transactions").body["data"]}


def lines_now(shop: ApiClient) -> list[Line]:
    return list(month_lines(month_filter(merchant_of(shop).pk, Mode.LIVE, *around())))


def euros_now(shop: ApiClient) -> TokenMonth:
    """The sums of EURC."""
    since, until = around()
    found = month_sums(merchant_of(shop).pk, Mode.LIVE, since=since, until=until, now=until)
    [euros] = [one for one in found if one.token == "EURC"]
    return euros


def test_parts_of_a_price_add_up_to_what_the_checkout_received(europe: ApiClient) -> None:
    checkout = offered(europe)
    first, second = paid(checkout, 10_000_000), paid(checkout, 13_000_000)
    store_rates({"EUR": "1.3"})
    # 13 EURC alone would be 14.147391.
    assert usd_values(europe) == {first.public_id: "10.882608", second.public_id: "14.147392"}
    assert fresh(checkout).amount_received == Decimal("25.03")


def test_dollars_beside_euros_count_as_they_are(europe: ApiClient) -> None:
    checkout = offered(europe)
    dollars, euros = paid(checkout, 10_000_000, "USDC"), paid(checkout, 13_811_027)
    assert usd_values(europe) == {dollars.public_id: "10.000000", euros.public_id: "15.030000"}
    body = summary(europe)
    assert (body["inflow"], body["counts"]["credited"]) == ("25.030000", 2)
    assert {part["token"]: part["inflow"] for part in body["by_chain"]} == {"USDC": "10.000000", "EURC": "15.030000"}


def test_once_all_went_back_nothing_of_the_worth_is_left(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, 10_000_000)
    paid(checkout, 13_000_000)
    store_rates({"EUR": "1.3"})
    refunds = [sent_back(europe, checkout, amount="10.00"), sent_back(europe, checkout)]
    given_back = {line.subject: line.usd for line in lines_now(europe) if line.kind is LineKind.REFUND}
    # Converted one by one they would leave a millionth.
    assert [given_back[one.public_id] for one in refunds] == [Decimal("-10.882609"), Decimal("-14.147391")]
    euros = euros_now(europe)
    assert (euros.received, euros.refunded, euros.closing, euros.euros_usd) == (23, 23, 0, 0)
    body = summary(europe)
    assert (body["inflow"], body["outflow"], body["net"]) == ("25.030000", "25.030000", "0.000000")


def test_a_refund_of_which_another_amount_was_sent_has_the_worth_of_that(europe: ApiClient) -> None:
    checkout = offered(europe)
    paid(checkout, DUE)
    answer, now = refund(europe, checkout), timezone.now()
    payout = Payout.objects.select_related("merchant").get(public_id=answer.body["id"])
    actor = Actor(make_member(payout.merchant))
    approve_payout(payout, revision=payout.revision, actor=actor, now=now)
    movement = outflow_for(payout, 11_500_000, block_time=now)
    queue_movements([movement.pk], now=now)
    follow_movements(now=now)
    accept_amount(payout, movement, actor=actor, now=now)
    assert usd_values(europe)[movement.public_id] == "12.515000"


def test_a_months_file_and_those_of_programs_have_the_worth(europe: ApiClient) -> None:
    paid(offered(europe, order_ref="1001"), DUE)
    found = lines_now(europe)
    [row] = read(found)
    assert (row["token"], Decimal(row["gross"]), Decimal(row["net"])) == ("EURC", 23, 23)
    assert row["usd_value"] == "25.030000"
    [xero], [quickbooks] = read(found, "xero"), read(found, "quickbooks")
    assert (xero["*Amount"], quickbooks["Amount"]) == ("25.03", "25.03")
    assert "23.000000 EURC on Base" in xero["Description"]


def test_a_statement_counts_euros_in_euros_and_says_their_worth(europe: ApiClient) -> None:
    transfer = paid(offered(europe), DUE)
    euros = euros_now(europe)
    assert (euros.opening, euros.received, euros.closing, euros.euros_usd) == (0, 23, 23, Decimal("25.03"))
    desk, month = make_desk(merchant_of(europe)), str(month_of(transfer.block_time))
    page = desk.get("dashboard_month", month=month).text
    for words in ("EURC on Base", "Paid checkouts, less refunds: 25.030000 USD", "Worth 25.030000 USD"):
        assert words in page
    assert "$25.03" in desk.get("dashboard_reports").text


def test_what_a_reorg_took_back_takes_its_worth_with_it(europe: ApiClient) -> None:
    transfer = paid(offered(europe), DUE)
    Watcher().loses(transfer, now=timezone.now())
    assert [(line.is_reversal, line.usd) for line in lines_now(europe)] == [
        (False, Decimal("25.03")),
        (True, Decimal("-25.03")),
    ]
    assert summary(europe)["inflow"] == "0.000000"


def test_euros_that_paid_nothing_have_no_worth(europe: ApiClient) -> None:
    checkout = offered(europe)
    credited, extra = paid(checkout, DUE), paid(checkout, DUE)
    assert inbox_of(checkout) == ["extra"]
    assert usd_values(europe) == {credited.public_id: "25.030000", extra.public_id: None}
    euros = euros_now(europe)
    assert (euros.received, euros.euros_usd) == (46, Decimal("25.03"))
    assert summary(europe)["inflow"] == "25.030000"


def test_euros_that_are_not_final_are_apart(europe: ApiClient) -> None:
    checkout, now = offered(europe), timezone.now()
    Watcher().sees(checkout, DUE, at=now, token="EURC")
    attribute(now=now)
    body = summary(europe)
    assert (body["inflow"], body["unconfirmed"], body["counts"]["unconfirmed"]) == ("0.000000", "25.030000", 1)
    assert lines_now(europe) == []


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_summary_has_euros_on_the_day_of_the_time_zone(
    europe: ApiClient, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setattr(pagination, "CHUNK_ROWS", 1)
    monkeypatch.setattr(lines, "CHUNK_ROWS", 1)
    transfers: list[Transfer] = [paid(offered(europe), DUE) for _ in range(2)]
    since, until = around()
    wanted = ReportFilter(merchant_of(europe).pk, Mode.LIVE, since=since, until=until)
    found = summary_of(wanted, now=until, zone=ZoneInfo(zone))
    days = [today_in(ZoneInfo(zone), now=one.block_time) for one in transfers]
    assert {day: sums.inflow for day, sums in found.by_day.items()} == {
        day: 25_030_000 * days.count(day) for day in days
    }
    assert found.total == Sums(inflow=50_060_000, came=2, credited=2)
    assert euros_now(europe).euros_usd == Decimal("50.06")


def test_of_dollars_alone_no_due_is_asked(europe: ApiClient) -> None:
    paid(offered(europe), 25_030_000, "USDC")
    with CaptureQueriesContext(connection) as captured:
        assert [*usd_values(europe).values()] == ["25.030000"]
        assert summary(europe)["inflow"] == "25.030000"
        assert [line.usd for line in lines_now(europe)] == [Decimal("25.03")]
    assert not [query["sql"] for query in captured if '"dues"' in query["sql"]]
