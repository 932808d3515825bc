"""What a person does about money in the inbox, by the forms of its pages."""

import pytest
from django.test import Client

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxStatus
from tests.checkouts.inboxes import REFUND, late_item
from tests.checkouts.watcher import DOLLAR, pay, status_of
from tests.dashboard.inboxes import DECIDE, ITEM, carry_out, decide, reverse_a_payment, undo_last
from tests.dashboard.people import Desk, log_in
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db


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
    late = decide(admin, item, InboxAct.REFUNDED, seen=0, refund_tx=REFUND)
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
    assert "Mark as refunded" in page


def test_late_money_is_accepted_where_it_is_enough(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = owner.get(ITEM, item_id=item.pk).text
    assert "It completes at once." in page
    decide(owner, item, InboxAct.ACCEPT_LATE)
    assert carry_out() == 1
    assert Checkout.objects.get(replaces=item.checkout).status == "completed"


def test_late_money_that_is_short_cannot_be_accepted(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    page = owner.get(ITEM, item_id=item.pk)
    assert "5.00 USD is missing" in page.text
    assert 'value="accept_late"' not in page.text
    sure = owner.get(DECIDE, "?act=accept_late&seen=0", item_id=item.pk)
    assert "5.00 USD is missing, so it cannot be accepted." in sure.text
    assert "Accept late payment</button>" not in sure.text


def test_a_refund_needs_a_hash_and_keeps_it(owner: Desk, item: InboxItem) -> None:
    wrong = decide(owner, item, InboxAct.REFUNDED, refund_tx="sent it")
    assert wrong.status_code == 422
    assert "look like a transaction hash" in wrong.text
    assert 'value="sent it"' in wrong.text
    right = f"https://basescan.org/tx/{REFUND}"
    assert decide(owner, item, InboxAct.REFUNDED, refund_tx=right).status_code == 302
    assert item.decisions.get().refund_tx == REFUND


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
