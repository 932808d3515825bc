"""The list of a link's subscribers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from checkouts.states import CheckoutException
from links.tokens import personal_url
from tests.dashboard.people import Desk
from tests.links.factories import make_link_checkout, make_subscriber, make_subscription_link

pytestmark = pytest.mark.django_db


def test_subscribers_stand_with_how_long_they_paid(owner_in_test_mode: Desk) -> None:
    link = make_subscription_link(owner_in_test_mode.merchant)
    ended = make_subscriber(link, paid=False)
    long_ago = timezone.now() - timedelta(days=40)
    make_link_checkout(link, subscription=ended, paid_at=long_ago)
    make_subscriber(link, email="ada@example.test")
    make_subscriber(link, paid=False)
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id)
    rows = page.context["subscribers"].rows
    told = [(row.badge.label, row.payments, row.email) for row in rows]
    assert told == [("Not paid yet", 0, ""), ("Paid", 1, "ada@example.test"), ("Ended", 1, "")]
    assert personal_url(ended) in page.text


def test_a_subscriber_whose_last_payment_was_reversed_is_not_called_paid(owner_in_test_mode: Desk) -> None:
    link = make_subscription_link(owner_in_test_mode.merchant)
    subscriber = make_subscriber(link, days_ago=20)
    make_link_checkout(
        link, subscription=subscriber, paid_at=timezone.now(), exception=CheckoutException.REVERSED, amount_received=0
    )
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id)
    [row] = page.context["subscribers"].rows
    assert (row.badge.label, row.badge.tone) == ("Reversed", "bad")
