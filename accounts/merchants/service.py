"""Creates merchants and changes their switches."""

from datetime import datetime
from typing import Final, NamedTuple

from django.db import transaction

from accounts.audit.service import record
from accounts.models import Membership, Merchant, User
from accounts.states import Role


@transaction.atomic
def create_merchant(*, name: str, owner: User, now: datetime, address: str | None = None) -> Merchant:
    """Create a merchant whose first owner is `owner`."""
    merchant = Merchant.objects.create(name=name, created_at=now)
    Membership.objects.create(merchant=merchant, user=owner, role=Role.OWNER, created_at=now)
    record(merchant, action="merchant.created", actor=owner, object_id=merchant.public_id, address=address, now=now)
    return merchant


class Switch(NamedTuple):
    """A setting that a merchant turns on or off: its field of `Merchant`, and the audit log's name of a change."""

    field: str
    action: str


BUYERS_MAY_RETRY: Final = Switch("buyers_may_retry", "merchant.retry_switched")
"""Buyers may renew an expired checkout at its original price."""

MAILS_RECEIPTS: Final = Switch("mails_receipts", "merchant.receipts_switched")
"""Buyers who left an address are mailed a receipt."""

ROUND_PRICE_RIVALS: Final = Switch("round_price_rivals", "merchant.round_price_rivals_switched")
"""A payment of a round price waits for review while another checkout of that price has just expired."""


@transaction.atomic
def turn(
    merchant: Merchant,
    switch: Switch,
    *,
    to: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Turn a setting on or off for a merchant. A repeat changes nothing and is not audited."""
    others = Merchant.objects.filter(pk=merchant.pk, **{switch.field: not to})
    changed = others.update(**{switch.field: to})
    setattr(merchant, switch.field, to)
    if changed:
        record(
            merchant,
            action=switch.action,
            actor=actor,
            object_id=merchant.public_id,
            before={switch.field: not to},
            after={switch.field: to},
            address=address,
            now=now,
        )
