"""Reaching the people who own a merchant."""

from datetime import datetime

from django.conf import settings

from accounts.models import Merchant, User
from accounts.states import Role
from gateway.core.ids import new_code
from mails.outbox import queue_mail


def mail_owners(
    merchant_id: int, *, key: str, subject: str, text: str, now: datetime
) -> int:
    """Promise each owner a mail in the caller's transaction; return how many were new.

    `key` says what it is about; each owner's has their public id after it. Nobody sees another one's address.
    """
    owners = User.objects.filter(
        is_active=True,
        memberships__merchant=merchant_id,
        memberships__role=Role.OWNER,
    ).order_by("pk")
    queued = [
        queue_mail(
            key=f"{key}:{owner.public_id}",
            recipient=owner.email,
            subject=subject,
            text=text,
            now=now,
        )
        for owner in owners
    ]
    return sum(mail is not None for mail in queued)


def tell_of_owners(
    merchant: Merchant, what: str, *, about: User, actor: User, now: datetime
) -> None:
    """Tell every owner of now what becomes of one, in the caller's transaction.

    Say it while whoever goes is one still: otherwise a thief could first remove those who would be told of what comes next.
    """
    mail_owners(
        merchant.pk,
        key=f"owners:{new_code()}",
        subject=f"The owners of {merchant.name} change",
        text=(
            f"{about.email} {what} of {merchant.name}. It was done by {actor.email}.\n\n"
            f"If you know nothing of it, look into it at once:\n{settings.BASE_URL}/dashboard/"
        ),
        now=now,
    )
