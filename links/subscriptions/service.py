"""Follows subscribers' payments, for reminders before a period ends."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from checkouts.states import FINAL
from links.models import LinkCheckout, SubscriberMail, Subscription
from links.selectors import paid_moments
from links.states import Interval, LinkStatus, MailKind
from links.subscriptions.mails import promise_mails
from links.subscriptions.periods import coverage

BATCH: Final = 200
REMIND_BEFORE: Final = timedelta(days=3)


def settle_subscriptions(*, now: datetime) -> int:
    """Count the ended checkouts of subscriptions; return how many. Each is counted once."""
    return _settle_all(Q(settled_at=None, checkout__status__in=[str(status) for status in FINAL]), now)


def settle_accepted(*, now: datetime) -> int:
    """Count late money that the merchant accepted after its checkout had been counted as expired; return how many."""
    # Accepting is rare, but every successor is checked: a sweep every few minutes is enough.
    accepted_at = "checkout__replaced_by__paid_at"
    return _settle_all(Q(**{f"{accepted_at}__gt": F("settled_at"), f"{accepted_at}__lte": now}), now)


def _settle_all(which: Q, now: datetime) -> int:
    total = 0
    while settled := _settle_batch(which, now):
        total += settled
    return total


def _settle_batch(which: Q, now: datetime) -> int:
    with transaction.atomic():
        rows = LinkCheckout.objects.filter(which, subscription__isnull=False)
        ended = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[:BATCH])
        for subscription in _held({row.subscription_id for row in ended if row.subscription_id}):
            _follow(subscription, now)
        LinkCheckout.objects.filter(pk__in=[row.pk for row in ended]).update(settled_at=now)
    return len(ended)


def _held(ids: set[int]) -> list[Subscription]:
    """Return the subscriptions, locked in one order, so that the last to follow one sees all of its payments."""
    rows = Subscription.objects.filter(pk__in=ids).select_related("link")
    return list(rows.select_for_update(of=("self",)).order_by("pk"))


def _follow(subscription: Subscription, now: datetime) -> None:
    covered = coverage(paid_moments(subscription), Interval(subscription.link.interval))
    if covered is None or covered.until == subscription.paid_until:
        return
    subscription.paid_until = covered.until
    subscription.save(update_fields=["paid_until"])
    if subscription.email:
        promise_mails([subscription], MailKind.PAID, now=now)


@transaction.atomic
def plan_reminders(*, now: datetime) -> int:
    """Queue a reminder to subscribers whose paid time ends within three days; return how many. One for each period."""
    promised = SubscriberMail.objects.filter(
        subscription=OuterRef("pk"), kind=MailKind.DUE, period_end=OuterRef("paid_until")
    )
    ending = Subscription.objects.filter(
        ~Exists(promised),
        paid_until__gt=now,
        paid_until__lte=now + REMIND_BEFORE,
        link__status=LinkStatus.ACTIVE,
        link__merchant__closed_at=None,
    ).exclude(email="")
    subscriptions = list(ending.order_by("paid_until", "pk")[:BATCH])
    promise_mails(subscriptions, MailKind.DUE, now=now)
    return len(subscriptions)


def stop_reminders(subscription: Subscription) -> None:
    """Delete the address for reminders; no more are sent."""
    Subscription.objects.filter(pk=subscription.pk).update(email="")
