"""Creates merchants, and changes their settings."""

from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from accounts.audit.service import record
from accounts.models import Membership, Merchant, User
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


def let_buyers_retry(
    merchant: Merchant,
    *,
    allowed: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Set whether buyers may renew an expired checkout at its price. Idempotent."""
    retry = _Switch("buyers_may_retry", "merchant.retry_switched")
    _turn(merchant, retry, to=allowed, now=now, actor=actor, address=address)


def mail_receipts(
    merchant: Merchant,
    *,
    allowed: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Set whether buyers with an address are mailed a receipt. Idempotent."""
    receipts = _Switch("mails_receipts", "merchant.receipts_switched")
    _turn(merchant, receipts, to=allowed, now=now, actor=actor, address=address)


def doubt_round_prices(
    merchant: Merchant,
    *,
    allowed: bool,
    now: datetime,
    actor: User | None = None,
    address: str | None = None,
) -> None:
    """Set whether a payment of a round price waits for review while another checkout of the price just expired.

    Idempotent.
    """
    doubt = _Switch("round_price_rivals", "merchant.round_price_rivals_switched")
    _turn(merchant, doubt, to=allowed, now=now, actor=actor, address=address)


class _Switch(NamedTuple):
    field: str
    action: str


@transaction.atomic
def _turn(
    merchant: Merchant,
    switch: _Switch,
    *,
    to: bool,
    now: datetime,
    actor: User | None,
    address: str | None,
) -> None:
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
