"""What subscribers are told, once about each period, and not after they stopped the mails."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import transaction

from accounts.states import Mode
from checkouts.models import Checkout
from links.models import PaymentLink, SubscriberMail
from links.subscriptions.service import plan_reminders, settle_subscriptions
from links.tokens import personal_url
from mails.models import OutgoingMail
from mails.sender import POSTPONED, send_due_mails
from tests.links.factories import make_link_checkout
from tests.links.payer import Payer
from tests.links.subscriptions.paid import ADA, BEGUN, paid_at, path_of, settled
from tests.links.troubles import TROUBLES, bring


def test_what_was_paid_is_counted_once_and_the_subscriber_is_thanked_once() -> None:
    subscription = paid_at(BEGUN)
    later = BEGUN + timedelta(minutes=1)
    assert settle_subscriptions(now=later) == 1
    assert settle_subscriptions(now=later) == 0
    subscription.refresh_from_db()
    assert subscription.paid_until == datetime(2026, 12, 20, 12, tzinfo=UTC)
    assert send_due_mails(now=later) == 1
    assert send_due_mails(now=later) == 0
    [message] = mail.outbox
    assert message.to == [ADA]
    assert message.subject == "Beans every month: paid until 20 December 2026"
    assert personal_url(subscription) in message.body


def test_a_reminder_goes_out_three_days_before_the_end_and_never_twice() -> None:
    subscription = settled()
    assert subscription.paid_until
    early = subscription.paid_until - timedelta(days=3, seconds=1)
    assert plan_reminders(now=early) == 0
    due = early + timedelta(seconds=1)
    assert [plan_reminders(now=due) for _ in range(2)] == [1, 0]
    assert [send_due_mails(now=due) for _ in range(2)] == [1, 0]
    [message] = mail.outbox
    assert message.subject == "Beans every month ends on 20 December 2026"
    assert "Nothing is ever charged automatically" in message.body


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nobody_is_told_that_they_paid_or_to_pay_while_the_payment_is_reversed_or_in_doubt(trouble: str) -> None:
    subscription = paid_at(BEGUN, mode=Mode.LIVE)
    settle_subscriptions(now=BEGUN)
    end = bring(trouble, Checkout.objects.get())
    send_due_mails(now=BEGUN)
    subscription.refresh_from_db()
    assert subscription.paid_until
    due = subscription.paid_until - timedelta(days=1)
    assert plan_reminders(now=due) == 1
    assert OutgoingMail.objects.count() == 2
    send_due_mails(now=BEGUN + POSTPONED)
    assert mail.outbox == []
    end()
    # What was paid is told afterwards: it has the personal link.
    send_due_mails(now=BEGUN + 2 * POSTPONED)
    assert [message.subject for message in mail.outbox] == ["Beans every month: paid until 20 December 2026"]


def test_a_reminder_is_dropped_when_the_period_was_paid_meanwhile() -> None:
    subscription = settled()
    assert subscription.paid_until
    now = subscription.paid_until - timedelta(days=1)
    plan_reminders(now=now)
    make_link_checkout(subscription.link, subscription=subscription, paid_at=now)
    settle_subscriptions(now=now)
    assert send_due_mails(now=now) == 2
    assert [message.subject for message in mail.outbox] == ["Beans every month: paid until 20 January 2027"]


def test_a_mail_is_dropped_when_the_subscriber_stopped_them_meanwhile(payer: Payer) -> None:
    subscription = paid_at(BEGUN)
    settle_subscriptions(now=BEGUN)
    assert OutgoingMail.objects.get().recipient == ADA
    payer.client.post(path_of(subscription), {"stop": "1"})
    assert send_due_mails(now=BEGUN) == 1
    assert mail.outbox == []
    assert not OutgoingMail.objects.exists()


def test_a_mail_without_a_subscriber_left_is_dropped() -> None:
    paid_at(BEGUN)
    settle_subscriptions(now=BEGUN)
    SubscriberMail.objects.all().delete()
    assert send_due_mails(now=BEGUN) == 1
    assert mail.outbox == []


def test_a_promise_stands_and_falls_with_what_it_is_about() -> None:
    paid_at(BEGUN)
    with transaction.atomic():
        settle_subscriptions(now=BEGUN)
        transaction.set_rollback(True)
    assert not OutgoingMail.objects.exists()
    assert not SubscriberMail.objects.exists()


def test_a_title_with_lines_makes_no_second_header() -> None:
    subscription = paid_at(BEGUN)
    PaymentLink.objects.update(title="Beans\nBcc: eve@example.test")
    settle_subscriptions(now=BEGUN)
    assert send_due_mails(now=BEGUN) == 1
    [message] = mail.outbox
    assert message.subject.startswith("Beans Bcc: eve@example.test: paid until")
    assert message.recipients() == [subscription.email]
