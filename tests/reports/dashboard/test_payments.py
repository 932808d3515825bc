"""The pages of reports and payments: whose money, which of it, and where its lines lead."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import InboxItem
from gateway.core.api.keyset import PAGE_ROWS
from tests.checkouts.inboxes import extra_item
from tests.dashboard.people import Desk
from tests.factories import make_checkout, make_transfer
from tests.reports.takings import copy, earn, lose, receive, see
from wallets.models import Transfer

pytestmark = pytest.mark.django_db


def now_and(days: int = 0) -> dict[str, Any]:
    """The block time of so many days from now."""
    return {"block_time": timezone.now() + timedelta(days=days)}


def shown(desk: Desk, query: str = "") -> list[str]:
    """The hashes on a page of payments, in its order."""
    page = desk.get("dashboard_payments", query)
    assert page.status_code == 200
    return [row.tx_hash for row in page.context["rows"]]


def hashes(*transfers: Transfer) -> list[str]:
    """The hashes of transfers."""
    return [transfer.tx_hash for transfer in transfers]


def test_payments_are_the_merchants_own_of_the_mode_newest_first(
    owner: Desk, stranger: Desk
) -> None:
    older = earn(owner.merchant)
    newer = receive(owner.merchant, **now_and(1))
    receive(owner.merchant, mode=Mode.TEST)
    receive(stranger.user.memberships.get().merchant)
    assert shown(owner) == hashes(newer, older)
    assert stranger.get("dashboard_payments").status_code == 404


def test_payments_are_narrowed_by_network_token_and_state(owner: Desk) -> None:
    paid = earn(owner.merchant)
    loose = receive(owner.merchant, chain="polygon", token="USDT")
    seen, lost = see(owner.merchant), lose(owner.merchant)
    assert shown(owner, "?chain=polygon") == hashes(loose)
    assert shown(owner, "?token=USDT") == hashes(loose)
    assert shown(owner, "?state=credited") == hashes(paid)
    assert shown(owner, "?state=uncredited") == hashes(seen, loose)
    assert shown(owner, "?state=confirming") == hashes(seen)
    assert shown(owner, "?state=orphaned") == hashes(lost)
    assert len(shown(owner, "?state=x&chain=y&token=%00&before=z&after=1-")) == 4


def test_a_payment_leads_to_its_checkout_or_to_the_inbox(owner: Desk) -> None:
    paid = earn(owner.merchant, order_ref="<b>HR-1")
    item = extra_item(merchant=owner.merchant)
    loose = receive(owner.merchant)
    page = owner.get("dashboard_payments")
    rows = page.context["rows"]
    checkout_id = paid.payment.checkout.public_id
    found = {row.tx_hash: (row.checkout_id, row.item_id) for row in rows}
    assert found[paid.tx_hash] == (checkout_id, None)
    assert found[item.transfer.tx_hash] == ("", item.pk)
    assert found[loose.tx_hash] == ("", None)
    assert owner.url("dashboard_checkout", checkout_id=checkout_id) in page.text
    assert owner.url("dashboard_inbox_item", item_id=item.pk) in page.text
    assert "&lt;b&gt;HR-1" in page.text


def test_pages_of_payments_lead_on_and_back(owner: Desk) -> None:
    copy(receive(owner.merchant), PAGE_ROWS)
    # Of one block: only their keys tell them apart.
    checkout = make_checkout(owner.merchant)
    for _ in range(PAGE_ROWS):
        make_transfer(checkout)
    page = owner.get("dashboard_payments", "?chain=base")
    walked = [[row.tx_hash for row in page.context["rows"]]]
    while query := page.context["pager"].older:
        page = owner.get("dashboard_payments", f"?{query}")
        walked.append([row.tx_hash for row in page.context["rows"]])
    everything = [tx for rows in walked for tx in rows]
    assert len(everything) == len(set(everything)) == 2 * PAGE_ROWS + 1
    for rows in reversed(walked[:-1]):
        page = owner.get("dashboard_payments", f"?{page.context['pager'].newer}")
        assert [row.tx_hash for row in page.context["rows"]] == rows
    assert page.context["pager"].newer == ""


def test_a_page_of_payments_takes_the_same_questions_however_many_they_are(
    owner: Desk, django_assert_max_num_queries: Any
) -> None:
    for _ in range(10):
        earn(owner.merchant)
    shown(owner)
    with django_assert_max_num_queries(12):
        shown(owner)


def test_empty_pages_explain_themselves(owner: Desk) -> None:
    assert "No payments yet" in owner.get("dashboard_payments").text
    assert "No payments match" in owner.get("dashboard_payments", "?chain=ton").text
    assert "Nothing came in these days" in owner.get("dashboard_reports").text


def test_reports_add_up_the_days_that_are_asked_for(owner: Desk) -> None:
    earn(owner.merchant, 10_000_000, **now_and())
    receive(owner.merchant, 5_000_000, chain="polygon", token="USDT", **now_and(-10))
    receive(owner.merchant, 1_000_000, **now_and(-60))
    see(owner.merchant, 500_000, **now_and())
    lose(owner.merchant, 2_000_000, **now_and())
    for query, received in (
        ("?days=7", 10),
        ("", 15),
        ("?days=90", 16),
        ("?days=8", 15),
    ):
        total = owner.get("dashboard_reports", query).context["total"]
        assert total.received == received
    page = owner.get("dashboard_reports")
    assert [line.name for line in page.context["tokens"]] == [
        "USDC on Base",
        "USDT on Polygon",
    ]
    assert [line.received for _, line in page.context["by_day"]] == [10, 5]
    assert page.context["total"].unconfirmed == Decimal("0.5")


def test_reports_are_the_merchants_own_of_the_mode(owner: Desk, stranger: Desk) -> None:
    receive(stranger.user.memberships.get().merchant, **now_and())
    receive(owner.merchant, mode=Mode.TEST, **now_and())
    assert owner.get("dashboard_reports").context["total"].count == 0
    assert stranger.get("dashboard_reports").status_code == 404
    assert stranger.get("dashboard_reports_csv").status_code == 404


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("?from=2026-11-01&to=2026-11-20", ("2026-11-01", "2026-11-20")),
        ("?from=2026-11-20&to=2026-11-01", ("2026-11-01", "2026-11-20")),
        ("?to=2026-11-30", ("2026-11-01", "2026-11-30")),
        ("?from=2020-01-01&to=2026-11-20", ("2025-11-20", "2026-11-20")),
        ("?to=0001-01-02", ("0001-01-01", "0001-01-02")),
        ("?to=9999-12-30", ("9999-12-01", "9999-12-30")),
    ],
)
def test_any_two_days_make_a_range(
    owner: Desk, query: str, days: tuple[str, str]
) -> None:
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
    assert ",'=1+1,\r\n" in _file(viewer)
    assert transfer.payment.checkout.public_id in _file(viewer)


def _file(desk: Desk, query: str = "") -> str:
    answer = desk.get("dashboard_reports_csv", query)
    assert answer.status_code == 200
    text: str = answer.getvalue().decode()
    return text


def test_an_item_put_away_stays_the_way_to_its_transfer(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    InboxItem.objects.filter(pk=item.pk).update(status="dismissed")
    rows = owner.get("dashboard_payments", "?state=uncredited").context["rows"]
    assert item.pk in {row.item_id for row in rows}
