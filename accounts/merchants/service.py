"""Creates merchants, changes their switches, closes and reopens them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.db import transaction
from django.template.defaultfilters import date
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import pgettext, pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import MOST_RATE_MARGIN, Membership, Merchant
from accounts.states import Role
from accounts.team.permissions import Act, may
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.currencies import DECIMALS
from gateway.core.ids import new_code
from gateway.core.texts import Lazy, pgettext_noop

REOPEN_WITHIN: Final = timedelta(days=30)
"""How long after closing the operator can reopen an account."""

_CLOSED: Final = pgettext_noop("team", "This merchant account is closed. It takes no new payments.")
_NO_OWNER: Final = pgettext_noop("team", "Only an owner can close this account.")


@transaction.atomic
def create_merchant(*, name: str, actor: Actor, now: datetime) -> Merchant:
    """Create a merchant whose first owner is `owner`."""
    merchant = Merchant.objects.create(name=name, created_at=now)
    Membership.objects.create(merchant=merchant, user=actor.person, role=Role.OWNER, created_at=now)
    record(merchant, action="merchant.created", actor=actor, object_id=merchant.public_id, now=now)
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

IS_GAS_FREE: Final = Switch("is_gas_free", "merchant.gas_free_switched")
"""Buyers may pay without a network fee, where the operator pays it."""

DECIDES_CERTAIN: Final = Switch("decides_certain", "merchant.inbox_rule_switched")
"""Money in the inbox that is certain is decided by itself."""


@transaction.atomic
def turn(merchant: Merchant, switch: Switch, *, to: bool, now: datetime, actor: Actor = SYSTEM) -> None:
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
            now=now,
        )


def refuse_if_closed(merchant_id: int) -> None:
    """Raise ConflictError (state_conflict) if the merchant account is closed."""
    if Merchant.objects.filter(pk=merchant_id, closed_at__isnull=False).exists():
        raise ConflictError(_CLOSED)


_CLOSED_MAIL: Final = pgettext_lazy(
    "team",
    """\
{actor} closed the merchant account {merchant}. It takes no new checkouts and payment links. Open checkouts can be paid until they \
expire, and received money can still be settled. All sessions of the team have ended.

If this was a mistake, ask the operator to reopen the account by {until}.""",
)
_REOPENED_MAIL: Final = pgettext_lazy(
    "team",
    """\
The operator reopened the merchant account {merchant}. It takes checkouts again, and its active payment links can be paid.

{url}""",
)


def _day_words(at: datetime) -> str:
    return str(date(at, pgettext("team", "j F Y")))


_day = lazy(_day_words, str)


@transaction.atomic
def close_account(merchant: Merchant, *, actor: Actor, now: datetime) -> bool:
    """Close a merchant account, log all of its members out and mail its owners; return whether it was open.

    Raises ConflictError if `actor` is not an owner (any more).
    """
    # Locks in the order of team changes, so that a person who was just removed cannot close the account.
    team = Membership.objects.select_for_update().filter(merchant=merchant)
    seats = {seat.user_id: Role(seat.role) for seat in team.order_by("pk")}
    if actor.person.pk not in seats or not may(seats[actor.person.pk], Act.CLOSE):
        raise ConflictError(_NO_OWNER)
    if not _set_closed(merchant, before=None, after=now):
        return False
    for session in UserSession.objects.filter(user__in=seats):
        session.end()
    _note(merchant, "merchant.closed", actor=actor, now=now)
    _mail(
        merchant,
        format_lazy(pgettext_lazy("team", "{merchant} is closed"), merchant=merchant.name),
        format_lazy(_CLOSED_MAIL, actor=actor.name, merchant=merchant.name, until=_day(now + REOPEN_WITHIN)),
        now=now,
    )
    return True


def set_rate_margin(merchant: Merchant, share: Decimal, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Set what is added to rates of converted prices, as a share. The same one again is not audited.

    Raises InvalidRequestError (parameter_invalid) beyond MOST_RATE_MARGIN, or with more than four decimals.
    """
    if not 0 <= share <= MOST_RATE_MARGIN or share != round(share, 4):
        raise InvalidRequestError(
            pgettext_noop("team", "The margin is 0 to 5 per cent, with two decimals."), param="margin"
        )
    set_value(merchant, "rate_margin", share, now=now, actor=actor)


def set_price_currency(merchant: Merchant, currency: str, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Set the currency that forms begin with. The same one again is not audited.

    The caller knows which ones prices may be in. Raises InvalidRequestError (parameter_invalid) for one that is unknown.
    """
    if currency not in DECIMALS:
        raise InvalidRequestError(
            pgettext_noop("team", "Choose a currency of the list, such as EUR."), param="price_currency"
        )
    set_value(merchant, "price_currency", currency, now=now, actor=actor)


@transaction.atomic
def set_value(merchant: Merchant, field: str, value: str | Decimal, *, now: datetime, actor: Actor) -> None:
    """Set a field of a merchant to a value that was checked, and audit it as `merchant.FIELD_set` unless it was the same."""
    locked = Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    before = getattr(locked, field)
    for row in (merchant, locked):
        setattr(row, field, value)
    if before == value:
        return
    locked.save(update_fields=[field])
    record(
        merchant,
        action=f"merchant.{field}_set",
        actor=actor,
        object_id=merchant.public_id,
        before={field: str(before)},
        after={field: str(value)},
        now=now,
    )


@transaction.atomic
def reopen_account(merchant: Merchant, *, actor: Actor, now: datetime) -> bool:
    """Reopen an account that was closed at most 30 days ago; return whether that changed anything."""
    closed_at = merchant.closed_at
    if closed_at is None or closed_at <= now - REOPEN_WITHIN:
        return False
    if not _set_closed(merchant, before=closed_at, after=None):
        return False
    _note(merchant, "merchant.reopened", actor=actor, now=now)
    _mail(
        merchant,
        format_lazy(pgettext_lazy("team", "{merchant} is open again"), merchant=merchant.name),
        format_lazy(_REOPENED_MAIL, merchant=merchant.name, url=f"{settings.BASE_URL}/dashboard/"),
        now=now,
    )
    return True


def _set_closed(merchant: Merchant, *, before: datetime | None, after: datetime | None) -> bool:
    # Of two concurrent requests to close or reopen, one succeeds.
    same = Merchant.objects.filter(pk=merchant.pk, closed_at=before)
    changed = same.update(closed_at=after)
    if changed:
        merchant.closed_at = after
    return bool(changed)


def _note(merchant: Merchant, action: str, *, actor: Actor, now: datetime) -> None:
    record(merchant, action=action, actor=actor, object_id=merchant.public_id, now=now)


def _mail(merchant: Merchant, subject: Lazy, text: Lazy, *, now: datetime) -> None:
    key = f"closing:{new_code()}"
    mail_owners(merchant.pk, key=key, subject=subject, text=text, now=now)
