"""Sending what subscribers were promised. The row is marked after the mail went, so that a crash repeats one at worst."""

from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Final

import structlog
from django.core.mail import send_mail
from django.db import transaction

from links.models import SubscriberMail
from links.states import MailKind
from links.tokens import personal_url

log = structlog.get_logger(__name__)

MOST_TRIES: Final = 12
RETRY_AFTER: Final = timedelta(minutes=10)
# A slow mail server must not outlast the task.
MOST_AT_ONCE: Final = 50


def send_due_mails(*, now: datetime) -> int:
    """Send what is due; return how many were taken up. Two senders at once never send the same mail."""
    taken = 0
    while taken < MOST_AT_ONCE and _send_next(now):
        taken += 1
    return taken


def _send_next(now: datetime) -> bool:
    with transaction.atomic():
        due = SubscriberMail.objects.filter(due_at__lte=now).select_related(
            "subscription__link__merchant"
        )
        mail = (
            due.select_for_update(skip_locked=True, of=("self",))
            .order_by("due_at", "pk")
            .first()
        )
        if mail is None:
            return False
        _deliver(mail, now)
        mail.save(update_fields=["tries", "due_at", "sent_at"])
    return True


def _deliver(mail: SubscriberMail, now: datetime) -> None:
    if _is_pointless(mail):
        mail.due_at = None
        return
    mail.tries += 1
    subject, text = _words(mail)
    try:
        send_mail(subject, text, None, [mail.subscription.email])
    except (SMTPException, OSError) as error:
        log.warning("subscriber mail not sent", mail=mail.pk, kind=type(error).__name__)
        mail.due_at = now + RETRY_AFTER if mail.tries < MOST_TRIES else None
        return
    mail.due_at, mail.sent_at = None, now


def _is_pointless(mail: SubscriberMail) -> bool:
    """Whether the subscriber wants no mail any more, or has paid for longer by now."""
    subscription = mail.subscription
    return not subscription.email or subscription.paid_until != mail.period_end


def _words(mail: SubscriberMail) -> tuple[str, str]:
    """Return a mail's subject and text."""
    link = mail.subscription.link
    ends = f"{mail.period_end:%-d %B %Y}"
    url = personal_url(mail.subscription)
    if mail.kind == MailKind.PAID:
        subject = f"{link.title}: paid until {ends}"
        first = f"Thank you. {link.title} by {link.merchant.name} is paid until {ends}."
        second = "This is your own link. The next period is paid there:"
    else:
        subject = f"{link.title} ends on {ends}"
        first = (
            f"What you paid for {link.title} by {link.merchant.name} ends on {ends}."
        )
        second = "To go on, pay the next period here:"
    # A title may have lines, a header may not.
    return " ".join(subject.split()), (
        f"{first}\n\n{second}\n\n  {url}\n\n"
        "Nothing is ever charged automatically. To get no more of these mails, open the link and stop them there.\n"
    )
