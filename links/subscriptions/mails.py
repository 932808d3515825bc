"""Subscribers' mails. The outbox asks for the text when it sends one: by then there may be no reason."""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection
from django.utils.formats import date_format
from django.utils.translation import gettext

from links.models import SubscriberMail, Subscription
from links.selectors import subscriber_payments
from links.states import MailKind, Standing
from links.tokens import personal_url
from mails.outbox import queue_unwritten
from mails.words import MailWords, TooEarlyError

_PROMISE = """
    INSERT INTO links_subscribermail (subscription_id, kind, period_end)
    SELECT id, %(kind)s, period_end FROM unnest(%(ids)s::bigint[], %(ends)s::timestamptz[]) AS s (id, period_end)
    ON CONFLICT (subscription_id, kind, period_end) DO NOTHING
    RETURNING id, subscription_id
"""


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

    None if they want no mail any more, have paid for longer by now, or would be asked to pay although the network reversed
    their last payment. Raises TooEarlyError while they cannot be told that they have paid.
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
