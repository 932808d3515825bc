"""Following what subscribers paid, so that they can be told before it ends."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from checkouts.states import FINAL
from links.models import LinkCheckout, SubscriberMail, Subscription
from links.periods import coverage
from links.selectors import paid_moments
from links.states import Interval, LinkStatus, MailKind

BATCH: Final = 200
REMIND_BEFORE: Final = timedelta(days=3)


def settle_subscriptions(*, now: datetime) -> int:
    """Count the checkouts of subscriptions that ended; return how many. Each is counted once, whoever does it."""
    total = 0
    while settled := _settle_batch(now):
        total += settled
    return total


def _settle_batch(now: datetime) -> int:
    with transaction.atomic():
        rows = LinkCheckout.objects.filter(
            settled_at=None,
            subscription__isnull=False,
            checkout__status__in=[str(status) for status in FINAL],
        )
        ended = list(
            rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[
                :BATCH
            ]
        )
        for subscription in _held(
            {row.subscription_id for row in ended if row.subscription_id}
        ):
            _follow(subscription, now)
        LinkCheckout.objects.filter(pk__in=[row.pk for row in ended]).update(
            settled_at=now
        )
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
        _promise([subscription], MailKind.PAID, now)


def plan_reminders(*, now: datetime) -> int:
    """Promise a reminder to whoever's paid time ends within three days; return how many. One for each period."""
    promised = SubscriberMail.objects.filter(
        subscription=OuterRef("pk"),
        kind=MailKind.DUE,
        period_end=OuterRef("paid_until"),
    )
    ending = Subscription.objects.filter(
        ~Exists(promised),
        paid_until__gt=now,
        paid_until__lte=now + REMIND_BEFORE,
        link__status=LinkStatus.ACTIVE,
    ).exclude(email="")
    subscriptions = list(ending.order_by("paid_until")[:BATCH])
    _promise(subscriptions, MailKind.DUE, now)
    return len(subscriptions)


def _promise(subscriptions: list[Subscription], kind: MailKind, now: datetime) -> None:
    SubscriberMail.objects.bulk_create(
        [
            SubscriberMail(
                subscription=subscription,
                kind=kind,
                period_end=subscription.paid_until,
                due_at=now,
            )
            for subscription in subscriptions
            if subscription.paid_until
        ],
        # Two sweeps at once promise one.
        ignore_conflicts=True,
    )


def stop_reminders(subscription: Subscription) -> None:
    """Forget where reminders went; nothing more is sent."""
    Subscription.objects.filter(pk=subscription.pk).update(email="")
