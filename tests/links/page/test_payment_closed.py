"""Links of a closed merchant account take no payments, and do again once it is reopened."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from checkouts.models import Checkout
from links.models import PaymentLink
from links.subscriptions.service import plan_reminders, settle_subscriptions
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)
from tests.links.payer import Payer

pytestmark = pytest.mark.django_db


def close(link: PaymentLink) -> None:
    """Close the account of the link's merchant."""
    Merchant.objects.filter(pk=link.merchant_id).update(closed_at=timezone.now())


@pytest.mark.parametrize("make", [make_link, make_invoice, make_donation, make_subscription_link])
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_page_says_that_no_payments_are_taken(make: type[PaymentLink], language: str, client: Client) -> None:
    link = make()
    close(link)
    text = Payer(client).look(f"/p/{link.code}?lang={language}")
    said = {"en": "This link is paused", "de": "Dieser Link ist pausiert"}
    assert said[language] in text
    assert 'name="form"' not in text


def test_a_form_opened_before_makes_nothing(client: Client) -> None:
    payer, link = Payer(client), make_link()
    form = payer.form(f"/p/{link.code}")
    close(link)
    answer = payer.press(f"/p/{link.code}", form)
    assert (answer.status_code, Checkout.objects.count()) == (200, 0)
    assert "This link is paused" in answer.content.decode()
    Merchant.objects.update(closed_at=None)
    payer.pay(f"/p/{link.code}", form)


def test_a_paid_invoice_still_says_that_it_is_paid(client: Client) -> None:
    link = make_paid_invoice()
    before = Payer(client).look(f"/p/{link.code}")
    close(link)
    assert Payer(client).look(f"/p/{link.code}") == before


def test_subscribers_are_not_reminded() -> None:
    subscription = make_subscriber(email="ines@halden.example")
    settle_subscriptions(now=timezone.now())
    subscription.refresh_from_db()
    assert subscription.paid_until
    due = subscription.paid_until - timedelta(days=1)
    close(subscription.link)
    assert plan_reminders(now=due) == 0
    Merchant.objects.update(closed_at=None)
    assert plan_reminders(now=due) == 1
