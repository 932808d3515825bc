"""Merchants and what they say about their own business."""

from datetime import datetime

from django.db import transaction

from accounts.models import Membership, Merchant, User
from accounts.services.audit import record
from accounts.states import Role


@transaction.atomic
def create_merchant(
    *, name: str, owner: User, now: datetime, address: str | None = None
) -> Merchant:
    """Create a merchant whose first owner is `owner`."""
    merchant = Merchant.objects.create(name=name, created_at=now)
    Membership.objects.create(
        merchant=merchant, user=owner, role=Role.OWNER, created_at=now
    )
    record(
        merchant,
        action="merchant.created",
        actor=owner,
        object_id=merchant.public_id,
        address=address,
        now=now,
    )
    return merchant


@transaction.atomic
def let_buyers_retry(
    merchant: Merchant,
    *,
    allowed: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Say whether buyers may make an expired checkout afresh, at the price it had. Saying it twice changes nothing."""
    changed = (
        Merchant.objects.filter(pk=merchant.pk)
        .exclude(buyers_may_retry=allowed)
        .update(buyers_may_retry=allowed)
    )
    merchant.buyers_may_retry = allowed
    if changed:
        record(
            merchant,
            action="merchant.retry_switched",
            actor=actor,
            object_id=merchant.public_id,
            before={"buyers_may_retry": not allowed},
            after={"buyers_may_retry": allowed},
            address=address,
            now=now,
        )


@transaction.atomic
def mail_receipts(
    merchant: Merchant,
    *,
    allowed: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Say whether buyers who left an address are mailed a receipt. Saying it twice changes nothing."""
    changed = (
        Merchant.objects.filter(pk=merchant.pk)
        .exclude(mails_receipts=allowed)
        .update(mails_receipts=allowed)
    )
    merchant.mails_receipts = allowed
    if changed:
        record(
            merchant,
            action="merchant.receipts_switched",
            actor=actor,
            object_id=merchant.public_id,
            before={"mails_receipts": not allowed},
            after={"mails_receipts": allowed},
            address=address,
            now=now,
        )
