"""Mails to the owners of a merchant."""

from datetime import datetime

from django.conf import settings

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Role
from gateway.core.ids import new_code
from mails.outbox import queue_mail


def mail_owners(merchant_id: int, *, key: str, subject: str, text: str, now: datetime) -> int:
    """Queue a mail to each owner in the caller's transaction; return how many were new.

    `key` identifies the subject; each owner's public id is appended. Owners do not see each other's addresses.
    """
    owners = User.objects.filter(
        is_active=True, memberships__merchant=merchant_id, memberships__role=Role.OWNER
    ).order_by("pk")
    queued = [
        queue_mail(key=f"{key}:{owner.public_id}", recipient=owner.email, subject=subject, text=text, now=now)
        for owner in owners
    ]
    return sum(mail is not None for mail in queued)


def tell_of_owners(merchant: Merchant, what: str, *, about: User, actor: Actor, now: datetime) -> None:
    """Mail all current owners about a change of ownership, in the caller's transaction.

    Call it before the change: otherwise a thief could first remove the owners to be notified.
    """
    mail_owners(
        merchant.pk,
        key=f"owners:{new_code()}",
        subject=f"The owners of {merchant.name} change",
        text=(
            f"{about.email} {what} of {merchant.name}. {actor.name} made this change.\n\n"
            f"If you did not expect this, check it now:\n{settings.BASE_URL}/dashboard/"
        ),
        now=now,
    )
