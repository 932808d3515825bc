"""Follows subscribers' payments, and mails them before a period ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.formats import date_format
from django.utils.translation import gettext

from checkouts.states import FINAL
from gateway.core.currencies import USD
from links.models import LinkCheckout, SubscriberMail, Subscription
from links.selectors import paid_moments, subscriber_payments
from links.states import Interval, LinkStatus, MailKind, Standing
from links.subscriptions.periods import coverage
from links.tokens import personal_url
from mails.outbox import queue_unwritten
from mails.words import MailWords, TooEarlyError
from rates.selectors import price_currencies

_PROMISE = """
    INSERT INTO links_subscribermail (subscription_id, kind, period_end)
    SELECT id, %(kind)s, period_end FROM unnest(%(ids)s::bigint[], %(ends)s::timestamptz[]) AS s (id, period_end)
    ON CONFLICT (subscription_id, kind, period_end) DO NOTHING
    RETURNING id, subscription_id
"""

BATCH: Final = 200
REMIND_BEFORE: Final = timedelta(days=3)


def promise_mails(subscriptions: Sequence[Subscription], kind: MailKind, *, now: datetime) -> None:
    """Queue mails to subscribers about their paid period, in the caller's transaction; once for each period."""
    addresses = {s.pk: s.email for s in subscriptions if s.paid_until is not None}
    with connection.cursor() as cursor:
        # Of two sweeps at once, one queues it.
        cursor.execute(
            _PROMISE,
            {
                "kind": kind.value,
                "ids": list(addresses),
                "ends": [s.paid_until for s in subscriptions if s.pk in addresses],
            },
        )
        new = cursor.fetchall()
    queue_unwritten([(f"subscriber:{pk}", addresses[subscription]) for pk, subscription in new], now=now)


def subscriber_words(number: str) -> MailWords | None:
    """Return the text of a subscriber's mail.

    None if the subscriber wants no mail any more, has paid for longer by now, or would be asked to pay although the network
    reversed the last payment. Raises TooEarlyError while it is not certain that the subscriber has paid.
    """
    merchant = "subscription__link__merchant__branding"
    promised = SubscriberMail.objects.select_related(merchant).defer(f"{merchant}__logo")
    mail = promised.filter(pk=int(number)).first()
    if mail is None or _is_pointless(mail):
        return None
    if not _stands(mail.subscription):
        if mail.kind == MailKind.DUE:
            return None
        raise TooEarlyError
    return _words(mail)


def _is_pointless(mail: SubscriberMail) -> bool:
    subscription = mail.subscription
    return not subscription.email or subscription.paid_until != mail.period_end


def _stands(subscription: Subscription) -> bool:
    """Return whether nothing speaks against the last payment."""
    payment = subscriber_payments([subscription.pk]).get(subscription.pk)
    return payment is None or payment.standing == Standing.PAID


def _words(mail: SubscriberMail) -> MailWords:
    link = mail.subscription.link
    facts = {
        "title": link.title,
        "merchant": link.merchant.shown_name,
        "date": date_format(mail.period_end, "j F Y", use_l10n=False),
    }
    if mail.kind == MailKind.PAID:
        subject = gettext("%(title)s: paid until %(date)s")
        first = gettext("Thank you. %(title)s by %(merchant)s is paid until %(date)s.")
        second = gettext("This is your personal link. Pay the next period there:")
    else:
        subject = gettext("%(title)s ends on %(date)s")
        first = gettext("Your subscription to %(title)s by %(merchant)s ends on %(date)s.")
        second = gettext("To continue, pay the next period here:")
    last = gettext(
        "Nothing is ever charged automatically. To stop these mails, open the link and stop reminders there."
    )
    url = personal_url(mail.subscription)
    text = f"{first % facts}\n\n{second}\n\n  {url}\n\n{last}\n"
    return MailWords(subject % facts, text)


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
        # One whose currency was taken out of PRICE_CURRENCIES cannot be paid.
        link__currency__in=(USD, *price_currencies()),
    ).exclude(email="")
    subscriptions = list(ending.order_by("paid_until", "pk")[:BATCH])
    promise_mails(subscriptions, MailKind.DUE, now=now)
    return len(subscriptions)


def stop_reminders(subscription: Subscription) -> None:
    """Delete the address for reminders; no more are sent."""
    Subscription.objects.filter(pk=subscription.pk).update(email="")
