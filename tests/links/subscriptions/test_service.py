"""Subscribers: what is paid, who renews, and who is reminded."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.core import mail
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from checkouts.testmode import play_due_steps
from links.models import LinkCheckout, PaymentLink, SubscriberMail, Subscription
from links.selectors import Takings, takings_of
from links.states import Interval, MailKind
from links.subscriptions.periods import after, coverage
from links.subscriptions.service import REMIND_BEFORE, plan_reminders, settle_accepted, settle_subscriptions
from links.tokens import personal_url
from mails.models import OutgoingMail
from mails.sender import POSTPONED, send_due_mails
from tests.factories import make_checkout
from tests.links.factories import make_link_checkout, make_subscriber, make_subscription_link
from tests.links.payer import Payer
from tests.links.subscriptions.paid import ADA, BEGUN, paid_at, path_of, settled
from tests.links.troubles import TROUBLES, bring


def test_a_first_payment_makes_a_subscriber_and_leads_back_to_the_personal_page(payer: Payer) -> None:
    link = make_subscription_link()
    checkout = payer.pay(f"/p/{link.code}", email=ADA)
    subscription = Subscription.objects.get()
    assert (subscription.email, checkout.customer_email) == (ADA, ADA)
    assert checkout.redirect_url == personal_url(subscription)
    assert checkout.customer_ref == ""
    assert orjson.loads(checkout.metadata)["subscription_id"] == subscription.public_id
    assert "Waiting for your first payment" in payer.look(path_of(subscription))


@pytest.mark.parametrize("email", ["ada", "a@b", "x" * 250 + "@example.test", "a\x00@b.test"])
def test_an_address_no_mail_reaches_is_left_out_with_a_notice_and_never_stops_a_payment(
    payer: Payer, email: str
) -> None:
    response = payer.press(f"/p/{make_subscription_link().code}", email=email)
    assert response.status_code == 303
    assert Subscription.objects.get().email == ""
    assert Checkout.objects.get().customer_email == ""
    shown = payer.look(response.headers["Location"])
    assert "so it was left out" in shown


def test_a_payer_may_have_an_internationalised_address(payer: Payer) -> None:
    checkout = payer.pay(f"/p/{make_subscription_link().code}", email=" ürsula@köln.example ")
    assert checkout.customer_email == "ürsula@köln.example"
    assert Subscription.objects.get().email == checkout.customer_email


def days_pass(count: int) -> None:
    """Move every payment into the past."""
    paid = Checkout.objects.exclude(paid_at=None)
    paid.update(paid_at=F("paid_at") - timedelta(days=count))


def test_a_subscriber_pays_period_after_period_from_page_to_page(payer: Payer) -> None:
    link = make_subscription_link()
    payer.pay(f"/p/{link.code}")
    subscription = Subscription.objects.get()
    now = timezone.now() + timedelta(seconds=6)
    play_due_steps(now=now)
    days_pass(26)
    assert "Paid until" in payer.look(path_of(subscription))
    second = payer.pay(path_of(subscription))
    assert second.customer_ref == subscription.public_id
    assert payer.pay(path_of(subscription)) == second
    play_due_steps(now=timezone.now() + timedelta(seconds=6))
    days_pass(30)
    third = payer.pay(path_of(subscription))
    assert third != second
    assert Subscription.objects.count() == 1
    slots = LinkCheckout.objects.order_by("pk").values_list("slot", flat=True)
    assert [slot.rpartition(":")[2] for slot in slots[1:]] == ["1", "2"]


def test_a_page_left_open_cannot_pay_a_period_that_is_paid_already(payer: Payer) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=26))
    path = path_of(subscription)
    form = payer.form(path)
    payer.pay(path)
    play_due_steps(now=timezone.now() + timedelta(seconds=6))
    pressed = payer.press(path, form)
    assert pressed.status_code == 200
    assert "Thank you" in pressed.content.decode()
    assert Checkout.objects.count() == 2


def test_a_personal_link_opens_only_its_own_link_and_only_as_we_signed_it(payer: Payer) -> None:
    subscription = make_subscriber()
    path = path_of(subscription)
    assert "Bookmark this page to renew" in payer.look(path)
    payer.look(path[:-1] + ("A" if path[-1] != "A" else "B"), 404)
    other = make_subscription_link()
    payer.look(path.replace(subscription.link.code, other.code), 404)
    unsigned = f"/p/{subscription.link.code}/s/{subscription.public_id}"
    payer.look(unsigned, 404)


def test_a_personal_link_outlives_the_key_it_was_signed_with(payer: Payer, settings: Any) -> None:
    path = path_of(make_subscriber())
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"
    assert "Bookmark this page to renew" in payer.look(path)
    settings.SECRET_KEY_FALLBACKS = []
    payer.look(path, 404)


def test_the_personal_page_never_shows_the_subscribers_address(payer: Payer) -> None:
    assert ADA not in payer.look(path_of(make_subscriber(email=ADA)))


def test_an_expired_checkout_is_settled_and_covers_nothing() -> None:
    subscription = make_subscriber(email=ADA, paid=False)
    make_link_checkout(subscription.link, CheckoutStatus.EXPIRED, subscription=subscription)
    make_link_checkout(subscription.link, CheckoutStatus.PENDING, subscription=subscription)
    assert settle_subscriptions(now=BEGUN) == 1
    subscription.refresh_from_db()
    assert subscription.paid_until is None
    assert not SubscriberMail.objects.exists()


def test_each_period_has_a_reminder_of_its_own() -> None:
    subscription = settled()
    for _ in range(2):
        assert subscription.paid_until
        now = subscription.paid_until - timedelta(days=1)
        assert plan_reminders(now=now) == 1
        make_link_checkout(subscription.link, subscription=subscription, paid_at=now)
        settle_subscriptions(now=now)
        subscription.refresh_from_db()
    assert SubscriberMail.objects.filter(kind=MailKind.DUE).count() == 2


@pytest.mark.parametrize("status", ["paused", "archived"])
def test_nobody_is_reminded_of_a_link_that_takes_no_payment(status: str) -> None:
    subscription = settled()
    PaymentLink.objects.update(status=status)
    assert subscription.paid_until
    assert plan_reminders(now=subscription.paid_until - timedelta(days=1)) == 0


def test_nobody_is_reminded_of_a_link_whose_currency_was_taken_out(settings: Any) -> None:
    subscription = settled()
    PaymentLink.objects.update(currency="EUR")
    assert subscription.paid_until
    before = subscription.paid_until - timedelta(days=1)
    settings.PRICE_CURRENCIES = ["JPY"]
    assert plan_reminders(now=before) == 0
    settings.PRICE_CURRENCIES = ["EUR"]
    assert plan_reminders(now=before) == 1


def test_who_gave_no_address_or_has_lapsed_is_not_reminded() -> None:
    settled(email="")
    lapsed = settled(BEGUN - timedelta(days=100))
    assert lapsed.paid_until
    assert plan_reminders(now=datetime(2026, 12, 19, tzinfo=UTC)) == 0


def test_a_subscriber_can_stop_the_mails(payer: Payer) -> None:
    subscription = settled()
    path = path_of(subscription)
    assert "Stop sending me reminders" in payer.look(path)
    response = payer.client.post(path, {"stop": "1"})
    assert (response.status_code, response["Location"]) == (303, path)
    assert "Stop sending me reminders" not in payer.look(path)
    assert subscription.paid_until
    assert plan_reminders(now=subscription.paid_until - timedelta(days=1)) == 0


def test_late_money_that_the_merchant_accepted_renews_the_subscription() -> None:
    subscription = paid_at(BEGUN)
    link, due = subscription.link, BEGUN + timedelta(days=31)
    expired = make_link_checkout(link, CheckoutStatus.EXPIRED, subscription=subscription)
    settle_subscriptions(now=due)
    make_checkout(
        link.merchant,
        mode=link.mode,
        status=CheckoutStatus.COMPLETED,
        replaces=expired,
        amount_received=25,
        paid_at=due + timedelta(seconds=1),
    )
    assert settle_accepted(now=due) == 0
    assert settle_accepted(now=due + timedelta(minutes=5)) == 1
    assert settle_accepted(now=due + timedelta(minutes=6)) == 0
    subscription.refresh_from_db()
    assert subscription.paid_until is not None
    assert subscription.paid_until > due + timedelta(days=25)
    assert takings_of([link])[link.pk] == Takings(2, Decimal(50))
    assert SubscriberMail.objects.filter(kind=MailKind.PAID).count() == 2


def test_a_subscriber_who_pays_twice_at_once_pays_for_one_period(payer: Payer) -> None:
    subscription = paid_at(timezone.now() - timedelta(days=26))
    forms = [payer.form(path_of(subscription)) for _ in range(2)]
    made = {payer.pay(path_of(subscription), form).pk for form in forms}
    assert len(made) == 1
    assert Checkout.objects.count() == 2


# What subscribers are told, once about each period, and not after they stopped the mails.


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


# What payments of a subscription cover.


def at(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("begun", "interval", "count", "end"),
    [
        (at(2026, 11, 20), Interval.WEEK, 2, at(2026, 12, 4)),
        (at(2026, 11, 20), Interval.MONTH, 1, at(2026, 12, 20)),
        (at(2026, 11, 20), Interval.MONTH, 14, at(2028, 1, 20)),
        (at(2026, 1, 31), Interval.MONTH, 1, at(2026, 2, 28)),
        (at(2026, 1, 31), Interval.MONTH, 2, at(2026, 3, 31)),
        (at(2028, 2, 29), Interval.YEAR, 1, at(2029, 2, 28)),
        (at(2028, 2, 29), Interval.YEAR, 4, at(2032, 2, 29)),
    ],
)
def test_intervals_end_where_a_calendar_says(begun: datetime, interval: Interval, count: int, end: datetime) -> None:
    assert after(begun, interval, count) == end


def test_nobody_who_did_not_pay_is_covered() -> None:
    assert coverage([], Interval.MONTH) is None


def test_paying_early_adds_to_what_is_left() -> None:
    covered = coverage([at(2026, 1, 31), at(2026, 2, 10)], Interval.MONTH)
    assert covered
    assert covered.until == at(2026, 3, 31)
    assert covered.next_until == at(2026, 4, 30)


@pytest.mark.parametrize("interval", Interval)
def test_the_next_period_can_be_paid_when_a_reminder_comes(interval: Interval) -> None:
    covered = coverage([at(2026, 1, 31)], interval)
    assert covered
    assert covered.begun < covered.renewable_at <= covered.until - REMIND_BEFORE


def test_paying_after_a_gap_begins_afresh() -> None:
    covered = coverage([at(2026, 1, 31), at(2026, 5, 2)], Interval.MONTH)
    assert covered
    assert (covered.begun, covered.until) == (at(2026, 5, 2), at(2026, 6, 2))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=30).map(sorted), st.sampled_from(Interval))
def test_no_payment_is_ever_lost(days: list[int], interval: Interval) -> None:
    moments = [at(2026, 1, 31) + timedelta(days=day) for day in days]
    covered = coverage(moments, interval)
    assert covered
    assert 1 <= covered.count <= len(moments)
    assert covered.until > moments[-1]
    assert covered.next_until > covered.until
