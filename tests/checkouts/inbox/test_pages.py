"""The inbox's pages: who sees what, who may decide, and what hostile senders and hasty colleagues can do to them."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.inbox.queries import alarm_count, doing_count, open_count
from checkouts.lifecycle.cancellation import cancel_checkout
from checkouts.models import InboxItem
from checkouts.states import InboxAct, InboxReason
from gateway.core.api.keyset import PAGE_ROWS
from tests.checkouts.inboxes import extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, SOON
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


def test_an_empty_inbox_explains_itself(owner: Desk) -> None:
    assert "Inbox is empty" in owner.get("dashboard_inbox").text
    assert "No decision is waiting" in owner.get("dashboard_inbox", "?tab=doing").text
    resolved = owner.get("dashboard_inbox", "?tab=resolved").text
    assert "Nothing resolved yet" in resolved
    assert "No reports from buyers" in owner.get("dashboard_buyer_reports").text


def test_an_item_goes_from_tab_to_tab(owner: Desk, item: InboxItem) -> None:
    def tabs() -> list[bool]:
        address = owner.url(ITEM, item_id=item.pk)
        pages = [owner.get("dashboard_inbox", f"?tab={tab}").text for tab in ("open", "doing", "resolved")]
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


def test_reversed_payments_are_alarms_above_everything(owner: Desk, item: InboxItem) -> None:
    alarm = reverse_a_payment(owner)
    page = owner.get("dashboard_inbox").text
    assert "A network took a payment back" in page
    link, other = (owner.url(ITEM, item_id=each.pk) for each in (alarm, item))
    assert page.count(link) == 1
    assert page.index(link) < page.index(other)
    assert "alarms" not in owner.get("dashboard_inbox", "?reason=extra").text
    assert link in owner.get("dashboard_inbox", "?reason=reversed").text


def test_money_for_a_cancelled_checkout_is_not_said_to_have_come_after_it_expired(owner: Desk) -> None:
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


def test_a_reason_narrows_the_list_and_nonsense_does_not(owner: Desk, item: InboxItem) -> None:
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


@pytest.mark.parametrize("name", ["public_id", "order_ref"])
def test_another_checkout_is_found_by_id_or_order_ref(name: str, owner: Desk, item: InboxItem) -> None:
    wanted = make_checkout(owner.merchant, amount=900, order_ref="HR-1")
    make_checkout(order_ref="HR-1", description="a stranger's")
    page = owner.get(ITEM, f"?q={getattr(wanted, name)}", item_id=item.pk).text
    assert f'value="{wanted.public_id}"' in page
    assert "a stranger" not in page
    assert "No checkout has the id" in owner.get(ITEM, "?q=%00", item_id=item.pk).text


def test_a_viewer_sees_everything_and_can_do_nothing(owner: Desk, viewer: Desk, item: InboxItem) -> None:
    page = viewer.get(ITEM, item_id=item.pk).text
    assert item.transfer.tx_hash in page
    assert "Owners and admins decide" in page
    assert "Dismiss" not in page
    assert decide(viewer, item, InboxAct.DISMISS).status_code == 403
    decide(owner, item, InboxAct.DISMISS)
    assert ">Undo<" not in viewer.get(ITEM, item_id=item.pk).text
    assert undo_last(viewer, item).status_code == 403
    assert viewer.get("dashboard_inbox_export").status_code == 200


def test_another_merchants_and_another_modes_items_do_not_exist(owner: Desk, stranger: Desk, item: InboxItem) -> None:
    report = make_report(make_checkout(owner.merchant))
    decide(owner, item, InboxAct.DISMISS)
    decision = item.decisions.get()
    elsewhere = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for desk in (elsewhere, in_test):
        assert desk.get(ITEM, item_id=item.pk).status_code == 404
        assert desk.get(DECIDE, "?act=dismiss", item_id=item.pk).status_code == 404
        assert decide(desk, item, InboxAct.DISMISS).status_code == 404
        undone = desk.post("dashboard_inbox_undo", item_id=item.pk, decision_id=decision.pk)
        assert undone.status_code == 404
        closed = desk.post("dashboard_close_report", report_id=report.pk)
        assert closed.status_code == 404
        assert str(item.transfer.tx_hash) not in export(desk)
    other = extra_item(merchant=owner.merchant)
    crossed = owner.post("dashboard_inbox_undo", item_id=other.pk, decision_id=decision.pk)
    assert crossed.status_code == 404


def test_what_strangers_write_is_text(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant, order_ref=SCRIPT, description=SCRIPT, customer_ref=SCRIPT)
    Transfer.objects.filter(pk=item.transfer_id).update(
        labels=[SCRIPT], sender=SCRIPT, recipient=SCRIPT, tx_hash=f'"><b>{SCRIPT}'
    )
    make_checkout(owner.merchant, order_ref=SCRIPT, description=SCRIPT, customer_ref=SCRIPT)
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


def test_a_list_asks_the_database_a_fixed_number_of_times(owner: Desk, django_assert_max_num_queries: Any) -> None:
    for _ in range(3):
        extra_item(merchant=owner.merchant, order_ref="x")
    with django_assert_max_num_queries(16):
        owner.get("dashboard_inbox")
