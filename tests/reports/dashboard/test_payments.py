"""The page of payments: whose, which, and where its lines lead."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from accounts.states import Mode
from checkouts.models import InboxItem
from gateway.core.api.pagination import PAGE_ROWS, TimedRows, page_by_time
from tests.checkouts.inboxes import extra_item
from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_merchant, make_transfer
from tests.reports.takings import copy, earn, lose, now_and, receive, see
from wallets.dashboard.rows import shortened
from wallets.models import Transfer
from wallets.networks import shown_address
from x402.models import X402Payment

pytestmark = pytest.mark.django_db


def shown(desk: Desk, query: str = "") -> list[str]:
    """The hashes on a page of payments, in its order."""
    page = desk.get("dashboard_payments", query)
    assert page.status_code == 200
    return [row.tx_hash for row in page.context["rows"]]


def hashes(*transfers: Transfer) -> list[str]:
    """The hashes of transfers."""
    return [transfer.tx_hash for transfer in transfers]


def test_payments_are_the_merchants_own_of_the_mode_newest_first(owner: Desk, stranger: Desk) -> None:
    older = earn(owner.merchant)
    newer = receive(owner.merchant, **now_and(1))
    receive(owner.merchant, mode=Mode.TEST)
    receive(stranger.user.memberships.get().merchant)
    assert shown(owner) == hashes(newer, older)


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


def test_payments_are_narrowed_by_days_in_utc(owner: Desk) -> None:
    day = timedelta(days=1)
    first, second, third = (receive(owner.merchant, block_time=NOON + number * day) for number in range(3))
    Transfer.objects.filter(pk=second.pk).update(block_time=second.block_time.replace(hour=23, minute=59, second=59))
    assert shown(owner, "?from=2026-11-21") == hashes(third, second)
    assert shown(owner, "?to=2026-11-21") == hashes(second, first)
    assert shown(owner, "?from=2026-11-21&to=2026-11-21") == hashes(second)
    assert shown(owner, "?from=yesterday&to=9999-12-31") == hashes(third, second, first)


def test_hashes_and_senders_lose_their_middle_and_are_copied_whole(owner: Desk) -> None:
    paid = earn(owner.merchant)
    page = owner.get("dashboard_payments").text
    assert f'data-copy="{paid.tx_hash}"' in page
    assert f'data-copy="{shown_address(paid.sender)}"' in page
    assert f">{shortened(paid.tx_hash)}<" in page


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


def test_an_item_put_away_stays_the_way_to_its_transfer(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    InboxItem.objects.filter(pk=item.pk).update(status="dismissed")
    rows = owner.get("dashboard_payments", "?state=uncredited").context["rows"]
    assert item.pk in {row.item_id for row in rows}


# Rows of two tables as one list: none is left out or told twice, whichever way somebody turns the pages.


Row = Transfer | X402Payment


@pytest.fixture
def sources() -> list[TimedRows]:
    """Nine rows of each, some of one moment, and always two of one key."""
    merchant = make_merchant()
    for number in range(9):
        at = NOON - timedelta(seconds=number // 5)
        transfer = receive(merchant, mode=Mode.TEST, block_time=at)
        make_machine_payment(merchant, pk=transfer.pk, mode=Mode.TEST, now=at)
    return [TimedRows(Transfer.objects.all(), "block_time"), TimedRows(X402Payment.objects.all(), "verified_at")]


def turn(sources: list[TimedRows], query: str, way: str, rows: int) -> list[list[Row]]:
    """All pages from one on."""
    pages = []
    while True:
        page = page_by_time(sources, dict(parse_qsl(query)), rows=rows)
        pages.append(list(page.rows))
        query = getattr(page, way)
        if not query:
            return pages


@pytest.mark.parametrize("rows", [1, 4, 5, 9])
def test_pages_lead_to_and_fro_and_leave_none_out(sources: list[TimedRows], rows: int) -> None:
    whole = page_by_time(sources, {}).rows
    assert len(whole) == 18
    times = [getattr(row, "verified_at", None) or row.block_time for row in whole]
    assert times == sorted(times, reverse=True)
    forth = turn(sources, "", "older", rows)
    assert [row for page in forth for row in page] == whole
    middle = page_by_time(sources, {}, rows=10)
    back = turn(sources, middle.older, "newer", rows)
    first, *others = [page for page in back if page]
    assert [row for page in reversed(others) for row in page] == whole[:10]
    assert first == whole[10 : 10 + rows]


def test_what_names_no_place_shows_the_first_page_and_other_words_are_kept(sources: list[TimedRows]) -> None:
    page = page_by_time(sources, {"before": "x", "after": "1-2", "kind": "x402"}, rows=2)
    assert page.rows == page_by_time(sources, {}, rows=2).rows
    assert page.older.startswith("kind=x402&before=")
