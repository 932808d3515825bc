"""Subscribers of a link, and how long they have paid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accounts.team.permissions import Act
from accounts.team.seats import Seat
from gateway.core.api.keyset import keyset_page
from gateway.core.email_masks import masked
from links.dashboard.words import STANDINGS
from links.models import PaymentLink, Subscription
from links.selectors import LastPayment, paid_moments_of, subscriber_payments
from links.states import Interval
from links.subscriptions.periods import coverage
from links.tokens import personal_url
from webhooks.dashboard.words import Badge

_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class ShownSubscriber:
    """A subscriber. `url` is their personal page, for people who may share it; `until` is None before the first payment."""

    public_id: str
    email: str
    badge: Badge
    until: datetime | None
    payments: int
    url: str


@dataclass(frozen=True, slots=True)
class SubscriberPage:
    """Some subscribers, the newest first, and the query strings of the pages beside it."""

    rows: Sequence[ShownSubscriber]
    newer: str
    older: str


def subscriber_page(link: PaymentLink, seat: Seat, query: Mapping[str, str], *, now: datetime) -> SubscriberPage:
    """Return the subscribers that a query string names by the key of one beside them."""
    found = Subscription.objects.filter(link=link)
    page = keyset_page(found, query, rows=_ROWS)
    keys = [row.pk for row in page.rows]
    moments, payments = paid_moments_of(keys), subscriber_payments(keys)
    for row in page.rows:
        row.link = link
    rows = [_shown(row, moments.get(row.pk, []), payments.get(row.pk), seat, now) for row in page.rows]
    return SubscriberPage(rows, newer=page.newer, older=page.older)


def _shown(
    row: Subscription, moments: Sequence[datetime], payment: LastPayment | None, seat: Seat, now: datetime
) -> ShownSubscriber:
    covered = coverage(moments, Interval(row.link.interval))
    until = covered.until if covered else None
    runs = seat.can(Act.RUN_PAYMENTS)
    return ShownSubscriber(
        public_id=row.public_id,
        email=row.email if runs else masked(row.email),
        badge=_badge(until, payment, now),
        until=until,
        payments=len(moments),
        url=personal_url(row) if runs else "",
    )


def _badge(until: datetime | None, payment: LastPayment | None, now: datetime) -> Badge:
    if until is None or payment is None:
        return Badge("Not paid yet", "")
    return STANDINGS[payment.standing] if now < until else Badge("Ended", "warn")
