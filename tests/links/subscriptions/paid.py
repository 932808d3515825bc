"""Subscribers whose payments were made at a given time."""

import re
from datetime import UTC, datetime

from django.core import mail

from accounts.states import Mode
from links.models import Subscription
from links.subscriptions.service import settle_subscriptions
from links.tokens import personal_url
from mails.sender import send_due_mails
from tests.links.factories import make_link_checkout, make_subscriber, make_subscription_link

ADA = "ada@example.test"

BEGUN = datetime(2026, 11, 20, 12, tzinfo=UTC)


def path_of(subscription: Subscription) -> str:
    return re.sub(r"^\w+://[^/]+", "", personal_url(subscription))


def paid_at(moment: datetime, email: str = ADA, mode: Mode = Mode.TEST) -> Subscription:
    """A subscriber whose first payment completed then."""
    subscription = make_subscriber(make_subscription_link(mode=mode), email=email, paid=False)
    make_link_checkout(subscription.link, subscription=subscription, paid_at=moment)
    return subscription


def settled(moment: datetime = BEGUN, email: str = ADA) -> Subscription:
    """A subscriber whose payment was counted, and who was thanked."""
    subscription = paid_at(moment, email)
    settle_subscriptions(now=moment)
    send_due_mails(now=moment)
    mail.outbox.clear()
    subscription.refresh_from_db()
    return subscription
