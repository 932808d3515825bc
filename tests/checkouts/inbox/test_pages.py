"""The inbox's pages: who sees what, who may decide, and what hostile senders and hasty colleagues can do to them."""

import csv
import io
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.queries import (
    alarm_count,
    doing_count,
    near_checkouts,
    open_count,
)
from checkouts.lifecycle.cancellation import cancel_checkout
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import (
    CheckoutStatus,
    InboxAct,
    InboxReason,
)
from gateway.core.api.keyset import PAGE_ROWS
from tests.checkouts.inboxes import LATER, REFUND, extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute
from tests.dashboard.inboxes import (
    DECIDE,
    ITEM,
    carry_out,
    copy_of,
    decide,
    export,
    make_report,
    reverse_a_payment,
    undo_last,
)
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """An open item of the owner's merchant: 25 USDC for a checkout that was paid already."""
    return extra_item(merchant=owner.merchant)


def test_the_list_says_what_came_and_why_in_words(owner: Desk, item: InboxItem) -> None:
    page = owner.get("dashboard_inbox")
    assert page.status_code == 200
    assert "25.00 USDC" in page.text
    assert "Its checkout was paid already" in page.text
    assert item.checkout is not None
    assert item.checkout.public_id in page.text
    assert owner.url(ITEM, item_id=item.pk) in page.text


def test_an_empty_inbox_explains_itself(owner: Desk) -> None:
    assert "Inbox is empty" in owner.get("dashboard_inbox").text
    assert "No decision is waiting" in owner.get("dashboard_inbox", "?tab=doing").text
    resolved = owner.get("dashboard_inbox", "?tab=resolved").text
    assert "Nothing resolved yet" in resolved
    assert "No reports from buyers" in owner.get("dashboard_buyer_reports").text


def test_an_item_goes_from_tab_to_tab(owner: Desk, item: InboxItem) -> None:
    def tabs() -> list[bool]:
        address = owner.url(ITEM, item_id=item.pk)
        pages = [
            owner.get("dashboard_inbox", f"?tab={tab}").text
            for tab in ("open", "doing", "resolved")
        ]
        return [address in page for page in pages]

    assert tabs() == [True, False, False]
    decide(owner, item, InboxAct.DISMISS)
    assert tabs() == [False, True, False]
    carry_out()
    assert tabs() == [False, False, True]


def test_the_sidebar_counts_what_is_open(owner: Desk, item: InboxItem) -> None:
    seat = owner.get("dashboard_inbox").wsgi_request.seat
    assert (open_count(seat), doing_count(seat), alarm_count(seat)) == (1, 0, 0)
    assert "1<span" in owner.get("dashboard_team").text
    decide(owner, item, InboxAct.DISMISS)
    reverse_a_payment(owner)
    assert (open_count(seat), doing_count(seat), alarm_count(seat)) == (1, 1, 1)


def test_reversed_payments_are_alarms_above_everything(
    owner: Desk, item: InboxItem
) -> None:
    alarm = reverse_a_payment(owner)
    page = owner.get("dashboard_inbox").text
    assert "A network took a payment back" in page
    link, other = (owner.url(ITEM, item_id=each.pk) for each in (alarm, item))
    assert page.count(link) == 1
    assert page.index(link) < page.index(other)
    assert "alarms" not in owner.get("dashboard_inbox", "?reason=extra").text
    assert link in owner.get("dashboard_inbox", "?reason=reversed").text


def test_late_money_says_how_late_and_returned_money_that_it_returned(
    owner: Desk,
) -> None:
    late = late_item(merchant=owner.merchant)
    assert "31 min after it expired." in owner.get(ITEM, item_id=late.pk).text
    checkout, watcher = make_checkout(owner.merchant), Watcher(height=900)
    transfer = watcher.sees(checkout)
    attribute()
    watcher.loses(transfer)
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    watcher.finds_again(transfer)
    attribute()
    page = owner.get("dashboard_inbox").text
    assert "A reorganisation took this transfer, and it returned after" in page
    assert "31 min after it expired." in page


def test_money_for_a_cancelled_checkout_is_not_said_to_have_come_after_it_expired(
    owner: Desk,
) -> None:
    checkout = make_checkout(owner.merchant)
    assert cancel_checkout(checkout.pk, address=None, now=SOON)
    late_for(checkout, 25 * DOLLAR)
    item = InboxItem.objects.get()
    pages = (
        owner.get("dashboard_inbox").text,
        owner.get(ITEM, item_id=item.pk).text,
        owner.get("dashboard_checkout", checkout_id=checkout.public_id).text,
    )
    assert "Cancelled checkout" in pages[1]
    for page in pages:
        assert "Arrived after the checkout was cancelled." in page
        assert "after it expired" not in page
        assert "Expired checkout" not in page


def test_a_reason_narrows_the_list_and_nonsense_does_not(
    owner: Desk, item: InboxItem
) -> None:
    late = late_item(merchant=owner.merchant)
    page = owner.get("dashboard_inbox", "?reason=late").text
    assert owner.url(ITEM, item_id=late.pk) in page
    assert owner.url(ITEM, item_id=item.pk) not in page
    odd = owner.get("dashboard_inbox", "?reason=%00&tab=x&before=x&after=-1").text
    assert owner.url(ITEM, item_id=item.pk) in odd


def test_pages_follow_each_other_without_a_gap(owner: Desk) -> None:
    first = extra_item(merchant=owner.merchant)
    InboxItem.objects.bulk_create(
        InboxItem(
            merchant=owner.merchant,
            mode=Mode.LIVE,
            transfer=copy_of(first.transfer, number),
            reason=InboxReason.UNMATCHED,
            explanation="",
            created_at=timezone.now(),
        )
        for number in range(PAGE_ROWS)
    )
    newest = owner.get("dashboard_inbox")
    older = newest.context["pager"].older
    oldest = owner.get("dashboard_inbox", f"?{older}")
    assert [row.id for row in oldest.context["rows"]] == [first.pk]
    assert oldest.context["pager"].older == ""
    back = owner.get("dashboard_inbox", f"?{oldest.context['pager'].newer}")
    assert back.context["rows"] == newest.context["rows"]
    assert back.context["pager"].newer == ""


def test_an_item_shows_evidence_and_checkouts_of_a_near_price(
    owner: Desk, item: InboxItem
) -> None:
    near = make_checkout(owner.merchant, amount=24, order_ref="o-24", customer_ref="c1")
    make_checkout(owner.merchant, amount=90, order_ref="o-90")
    InboxItem.objects.filter(pk=item.pk).update(
        candidates=[{"checkout": near.public_id, "why_not": "not the only one"}]
    )
    page = owner.get(ITEM, item_id=item.pk).text
    assert item.transfer.tx_hash in page
    assert item.transfer.sender in page
    assert f"https://basescan.org/tx/{item.transfer.tx_hash}" in page
    assert "Not the only one." in page
    assert "1.00 more than it needs" in page
    assert "Customer c1" in page
    assert "o-90" not in page


def test_near_checkouts_are_live_ones_of_this_merchant_nearest_first(
    owner: Desk,
) -> None:
    seat = owner.get("dashboard_inbox").wsgi_request.seat
    prices = (30, 26, 25, 22, 60)
    made = {price: make_checkout(owner.merchant, amount=price) for price in prices}
    make_checkout(owner.merchant, amount=25, status=CheckoutStatus.EXPIRED)
    make_checkout(owner.merchant, amount=25, mode=Mode.TEST)
    make_checkout(amount=25)
    partly = make_checkout(
        owner.merchant,
        amount=100,
        amount_received=75,
        status=CheckoutStatus.UNDERPAID,
    )
    found = near_checkouts(seat, 25 * DOLLAR)
    assert {c.pk for c in found[:2]} == {made[25].pk, partly.pk}
    assert [c.pk for c in found[2:]] == [made[26].pk, made[22].pk, made[30].pk]
    assert made[25].pk not in {
        c.pk for c in near_checkouts(seat, 25 * DOLLAR, but=[made[25].pk])
    }


def test_an_amount_that_no_column_holds_is_near_nothing(
    owner: Desk, item: InboxItem
) -> None:
    Transfer.objects.filter(pk=item.transfer_id).update(units=2**255)
    assert owner.get(ITEM, item_id=item.pk).status_code == 200
    assert owner.get("dashboard_inbox").status_code == 200


@pytest.mark.parametrize("name", ["public_id", "order_ref"])
def test_another_checkout_is_found_by_id_or_order_ref(
    name: str, owner: Desk, item: InboxItem
) -> None:
    wanted = make_checkout(owner.merchant, amount=900, order_ref="HR-1")
    make_checkout(order_ref="HR-1", description="a stranger's")
    page = owner.get(ITEM, f"?q={getattr(wanted, name)}", item_id=item.pk).text
    assert f'value="{wanted.public_id}"' in page
    assert "a stranger" not in page
    assert "No checkout has the id" in owner.get(ITEM, "?q=%00", item_id=item.pk).text


def test_a_viewer_sees_everything_and_can_do_nothing(
    owner: Desk, viewer: Desk, item: InboxItem
) -> None:
    page = viewer.get(ITEM, item_id=item.pk).text
    assert item.transfer.tx_hash in page
    assert "Owners and admins decide" in page
    assert "Dismiss" not in page
    assert decide(viewer, item, InboxAct.DISMISS).status_code == 403
    decide(owner, item, InboxAct.DISMISS)
    assert "Undo" not in viewer.get(ITEM, item_id=item.pk).text
    assert undo_last(viewer, item).status_code == 403
    assert viewer.get("dashboard_inbox_export").status_code == 200


def test_another_merchants_and_another_modes_items_do_not_exist(
    owner: Desk, stranger: Desk, item: InboxItem
) -> None:
    report = make_report(make_checkout(owner.merchant))
    decide(owner, item, InboxAct.DISMISS)
    decision = item.decisions.get()
    elsewhere = Desk(
        stranger.client, stranger.user.memberships.get().merchant, stranger.user
    )
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for desk in (elsewhere, in_test):
        assert desk.get(ITEM, item_id=item.pk).status_code == 404
        assert desk.get(DECIDE, "?act=dismiss", item_id=item.pk).status_code == 404
        assert decide(desk, item, InboxAct.DISMISS).status_code == 404
        undone = desk.post(
            "dashboard_inbox_undo", item_id=item.pk, decision_id=decision.pk
        )
        assert undone.status_code == 404
        closed = desk.post("dashboard_close_report", report_id=report.pk)
        assert closed.status_code == 404
        assert str(item.transfer.tx_hash) not in export(desk)
    other = extra_item(merchant=owner.merchant)
    crossed = owner.post(
        "dashboard_inbox_undo", item_id=other.pk, decision_id=decision.pk
    )
    assert crossed.status_code == 404


def test_what_strangers_write_is_text(owner: Desk) -> None:
    item = extra_item(
        merchant=owner.merchant,
        order_ref=SCRIPT,
        description=SCRIPT,
        customer_ref=SCRIPT,
    )
    Transfer.objects.filter(pk=item.transfer_id).update(
        labels=[SCRIPT], sender=SCRIPT, recipient=SCRIPT, tx_hash=f'"><b>{SCRIPT}'
    )
    make_checkout(
        owner.merchant, order_ref=SCRIPT, description=SCRIPT, customer_ref=SCRIPT
    )
    make_report(make_checkout(owner.merchant, order_ref=SCRIPT), tx_hash=SCRIPT)
    pages = [
        owner.get("dashboard_inbox"),
        owner.get(ITEM, f"?q={SCRIPT}", item_id=item.pk),
        owner.get("dashboard_buyer_reports"),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert" in page.text


def test_the_csv_holds_a_tab_and_no_formulas(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant, order_ref="=1+1")
    Transfer.objects.filter(pk=item.transfer_id).update(sender="@SUM(A1)")
    [row] = csv.DictReader(io.StringIO(export(owner)))
    assert row["order_ref"] == "'=1+1"
    assert row["from"] == "'@SUM(A1)"
    assert (row["amount"], row["status"]) == ("25.00", "open")
    decide(owner, item, InboxAct.REFUNDED, refund_tx=REFUND)
    carry_out()
    assert list(csv.DictReader(io.StringIO(export(owner)))) == []
    [resolved] = csv.DictReader(io.StringIO(export(owner, "?tab=resolved")))
    assert resolved["decided_by"] == owner.user.email
    assert resolved["refund_transaction"] == REFUND


def test_buyers_reports_lead_to_the_item_and_can_be_closed(
    owner: Desk, viewer: Desk, item: InboxItem
) -> None:
    assert item.checkout is not None
    report = make_report(item.checkout, item.transfer.tx_hash)
    page = owner.get("dashboard_buyer_reports").text
    assert item.checkout.public_id in page
    assert "paid already" in page
    assert owner.url(ITEM, item_id=item.pk) in page
    assert viewer.post("dashboard_close_report", report_id=report.pk).status_code == 403
    for said in ("The report is closed", "Somebody closed it before you"):
        owner.post("dashboard_close_report", report_id=report.pk)
        assert said in owner.get("dashboard_buyer_reports").text
    report.refresh_from_db()
    assert report.closed_at is not None
    assert AuditEntry.objects.filter(action="report.closed").count() == 1


def test_a_list_asks_the_database_a_fixed_number_of_times(
    owner: Desk, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        extra_item(merchant=owner.merchant, order_ref="x")
    with django_assert_max_num_queries(16):
        owner.get("dashboard_inbox")
