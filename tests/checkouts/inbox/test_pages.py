"""The inbox's pages: who sees what, who may decide, and what hostile senders and hasty colleagues can do to them."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.queries import alarm_count, doing_count, open_count
from checkouts.inbox.service import decide_item
from checkouts.inbox.suggestions import confirmation_of
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import PAGE_ROWS
from payouts.lifecycle.service import cancel_payout
from tests.checkouts.inboxes import LATER, ask_back, extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, SOON, pay, status_of
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
from tests.dashboard.people import Desk, log_in
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


def test_a_cancelled_checkout_is_not_called_expired(owner: Desk) -> None:
    cancelled = make_checkout(owner.merchant)
    assert cancel_checkout(cancelled.pk, now=SOON)
    make_report(cancelled)
    page = owner.get("dashboard_buyer_reports").text
    assert "USD, cancelled</small>" in page
    assert "expired" not in page


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
    assert cancel_checkout(checkout.pk, now=SOON)
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
    accepting = confirmation_of(item, InboxAct.ACCEPT_LATE, None, now=SOON)
    assert accepting.effect.endswith("The old checkout stays cancelled.")


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


def test_a_viewer_sees_everything_and_is_offered_nothing(owner: Desk, viewer: Desk, item: InboxItem) -> None:
    page = viewer.get(ITEM, item_id=item.pk).text
    assert item.transfer.tx_hash in page
    assert "Owners and admins decide" in page
    assert "Dismiss" not in page
    decide(owner, item, InboxAct.DISMISS)
    assert ">Undo<" not in viewer.get(ITEM, item_id=item.pk).text
    assert viewer.get("dashboard_inbox_export").status_code == 200


def test_a_decision_is_undone_under_its_own_item_and_exports_are_the_merchants_own(
    owner: Desk, stranger: Desk, item: InboxItem
) -> None:
    decide(owner, item, InboxAct.DISMISS)
    decision = item.decisions.get()
    elsewhere = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for desk in (elsewhere, in_test):
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
    # Three of them look for trouble of networks, as on every page.
    with django_assert_max_num_queries(23):
        owner.get("dashboard_inbox")


# What a person does about money in the inbox, by the forms of its pages.


def test_a_credit_is_confirmed_waits_can_be_undone_and_takes_effect(owner: Desk, item: InboxItem) -> None:
    wanted = make_checkout(owner.merchant, order_ref="HR-7")
    chosen = f"?act=credit&checkout={wanted.public_id}&seen=0"
    sure = owner.get(DECIDE, chosen, item_id=item.pk)
    assert "Credit 25.00 USDC to HR-7?" in sure.text.replace("\n", " ").replace("  ", "")
    assert "The checkout completes, and checkout.completed is sent." in sure.text
    assert f'name="checkout" value="{wanted.public_id}"' in " ".join(sure.text.split())
    assert not InboxDecision.objects.exists()
    decide(owner, item, InboxAct.CREDIT, checkout=wanted.public_id, seen=0)
    page = owner.get(ITEM, item_id=item.pk)
    assert ">Undo<" in page.text
    assert 0 < page.context["pending"].seconds_left <= 30
    undo_last(owner, item)
    assert status_of(wanted) == CheckoutStatus.PENDING
    decide(owner, item, InboxAct.CREDIT, checkout=wanted.public_id)
    assert carry_out() == 1
    assert status_of(wanted) == CheckoutStatus.COMPLETED
    history = owner.get(ITEM, item_id=item.pk).text
    assert "It took effect." in history
    assert "undid it." in history
    actions = AuditEntry.objects.filter(action__startswith="inbox.")
    assert set(actions.values_list("actor__email", "address")) >= {(owner.user.email, "127.0.0.1")}


def test_the_history_names_who_undid_it(owner: Desk, admin: Desk, item: InboxItem) -> None:
    decide(owner, item, InboxAct.DISMISS)
    undo_last(admin, item)
    assert f"{admin.user.email} undid it." in owner.get(ITEM, item_id=item.pk).text
    entry = AuditEntry.objects.get(action="inbox.undone")
    assert (entry.actor, entry.address) == (admin.user, "127.0.0.1")


def test_what_has_taken_effect_is_not_undone(owner: Desk, item: InboxItem) -> None:
    decide(owner, item, InboxAct.DISMISS)
    carry_out()
    answer = undo_last(owner, item)
    assert answer.status_code == 409
    assert "cannot be undone" in answer.text


def test_the_second_of_two_people_is_told_who_was_faster(owner: Desk, admin: Desk, item: InboxItem) -> None:
    assert decide(owner, item, InboxAct.DISMISS, seen=0).status_code == 302
    late = decide(admin, item, InboxAct.DISMISS, seen=0)
    assert late.status_code == 409
    assert f"{owner.user.email} decided about this before you: dismiss" in late.text
    assert "Being dismissed" in late.text
    assert InboxDecision.objects.count() == 1


def test_a_page_of_before_an_undone_decision_is_too_old(owner: Desk, admin: Desk, item: InboxItem) -> None:
    decide(owner, item, InboxAct.DISMISS, seen=0)
    undo_last(owner, item)
    assert decide(admin, item, InboxAct.DISMISS, seen=0).status_code == 409
    assert decide(admin, item, InboxAct.DISMISS, seen="9" * 30).status_code == 409


def test_a_decision_that_could_not_take_effect_opens_the_item_and_says_why(owner: Desk, item: InboxItem) -> None:
    wanted = make_checkout(owner.merchant)
    decide(owner, item, InboxAct.CREDIT, checkout=wanted.public_id)
    pay(wanted)
    assert carry_out() == 0
    page = owner.get(ITEM, item_id=item.pk).text
    assert "could not take effect" in page
    assert "now completed" in page
    assert owner.url("dashboard_refund_item", item_id=item.pk) in page


def test_late_money_is_accepted_where_it_is_enough(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = owner.get(ITEM, item_id=item.pk).text
    assert "It completes at once." in page
    decide(owner, item, InboxAct.ACCEPT_LATE)
    assert carry_out() == 1
    assert Checkout.objects.get(replaces=item.checkout).status == "completed"


def test_late_money_that_is_short_is_accepted_as_paid(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    page = owner.get(ITEM, item_id=item.pk)
    assert "5.00 USD is missing" in page.text
    assert "Accept as paid" in page.text
    sure = owner.get(DECIDE, "?act=accept_late&seen=0", item_id=item.pk)
    assert "20.00 of 25.00 USD. 5.00 USD is missing: you accept that." in sure.text
    assert '<input type="hidden" name="accepted" value="20.000000">' in sure.text
    decide(owner, item, InboxAct.ACCEPT_LATE, accepted="20.000000")
    assert carry_out() == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (successor.status, successor.exception) == ("completed", "underpaid")


@pytest.mark.parametrize("accepted", ["", "19.99", "20.00 USD", "NaN", "-20", "2e1", "٢٠"])
def test_late_money_that_is_short_is_not_accepted_by_another_sum(accepted: str, owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    decide(owner, item, InboxAct.ACCEPT_LATE, accepted=accepted)
    assert carry_out() == 0
    assert not Checkout.objects.filter(replaces__isnull=False).exists()


def test_nobody_says_that_it_was_refunded_and_a_page_of_before_leads_to_the_refund(
    owner: Desk, item: InboxItem
) -> None:
    answer = decide(owner, item, InboxAct.REFUNDED)
    assert (answer.status_code, answer["Location"]) == (302, owner.url("dashboard_refund_item", item_id=item.pk))
    with pytest.raises(InvalidRequestError):
        decide_item(item, act=InboxAct.REFUNDED, now=LATER, actor=Actor(owner.user))
    assert not item.decisions.exists()


def test_while_a_refund_is_on_its_way_the_page_says_so_and_offers_nothing_else(owner: Desk, item: InboxItem) -> None:
    refund = ask_back(item)
    page = owner.get(ITEM, item_id=item.pk).text
    assert "A refund of this money was asked for." in page
    assert "Dismiss" not in page
    assert decide(owner, item, InboxAct.DISMISS).status_code == 409
    cancel_payout(refund, now=LATER)
    assert "Dismiss" in owner.get(ITEM, item_id=item.pk).text


def test_nobody_is_asked_about_a_checkout_that_ended(owner: Desk, item: InboxItem) -> None:
    ended = make_checkout(owner.merchant, status=CheckoutStatus.EXPIRED)
    chosen = f"?act=credit&checkout={ended.public_id}"
    assert owner.get(DECIDE, chosen, item_id=item.pk).status_code == 302
    late = decide(owner, item, InboxAct.CREDIT, checkout=ended.public_id)
    assert late.status_code == 409
    assert "accepts no more money" in late.text


@pytest.mark.parametrize("act", ["", "burn", "accept_late"])
def test_only_what_its_reason_allows_can_be_done(act: str, owner: Desk, item: InboxItem) -> None:
    answer = owner.post(DECIDE, {"act": act}, item_id=item.pk)
    assert answer.status_code in {302, 404}
    assert not InboxDecision.objects.exists()


def test_a_credit_without_a_checkout_of_ones_own_is_refused(owner: Desk, item: InboxItem) -> None:
    other_mode = make_checkout(owner.merchant, mode=Mode.TEST)
    for public_id in ("", "\x00", make_checkout().public_id, other_mode.public_id):
        decide(owner, item, InboxAct.CREDIT, checkout=public_id)
    assert not InboxDecision.objects.exists()
    assert "Select the open checkout" in owner.get(ITEM, item_id=item.pk).text


def test_a_forged_form_is_refused(owner: Desk, item: InboxItem) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = log_in(owner.user).cookies
    answer = strict.post(owner.url(DECIDE, item_id=item.pk), {"act": "dismiss"})
    assert answer.status_code == 403
    assert not InboxDecision.objects.exists()


def test_an_alarm_can_be_put_away_and_no_more(owner: Desk) -> None:
    alarm = reverse_a_payment(owner)
    page = owner.get(ITEM, item_id=alarm.pk).text
    assert "Dismiss alarm" in page
    assert "Credit the selected" not in page
    decide(owner, alarm, InboxAct.DISMISS)
    carry_out()
    alarm.refresh_from_db()
    assert alarm.status == InboxStatus.DISMISSED


# Reports of buyers, as the merchant finds and closes them.


def test_buyers_reports_lead_to_the_item_and_can_be_closed(owner: Desk, viewer: Desk, item: InboxItem) -> None:
    assert item.checkout is not None
    report = make_report(item.checkout, item.transfer.tx_hash)
    page = owner.get("dashboard_buyer_reports").text
    assert item.checkout.public_id in page
    assert "already paid" in page
    assert owner.url(ITEM, item_id=item.pk) in page
    for said in ("The report is closed", "Another team member closed it first"):
        owner.post("dashboard_close_report", report_id=report.pk)
        assert said in owner.get("dashboard_buyer_reports").text
    report.refresh_from_db()
    assert report.closed_at is not None
    assert AuditEntry.objects.filter(action="report.closed").count() == 1


# The inbox as a file.


def test_the_csv_holds_a_tab_and_no_formulas(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant, order_ref="=1+1")
    Transfer.objects.filter(pk=item.transfer_id).update(sender="@SUM(A1)")
    [row] = csv.DictReader(io.StringIO(export(owner)))
    assert row["order_ref"] == "'=1+1"
    assert row["from"] == "'@SUM(A1)"
    assert (row["amount"], row["status"]) == ("25.00", "open")
    decide(owner, item, InboxAct.DISMISS)
    carry_out()
    assert list(csv.DictReader(io.StringIO(export(owner)))) == []
    [resolved] = csv.DictReader(io.StringIO(export(owner, "?tab=resolved")))
    assert resolved["decided_by"] == owner.user.email
