"""How long a merchant's new receiving wallets wait before they get money."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import MOST_WALLET_CHANGE_HOURS, Merchant
from accounts.team.service import mail_owners
from gateway.core.api.errors import InvalidRequestError
from gateway.core.texts import pgettext_noop

_SOONER = pgettext_lazy(
    "team",
    """Changes of the receiving wallets of {merchant} wait {hours} hours now. {actor} asked for {wanted} hours. That
takes effect at {at:%Y-%m-%d %H:%M} UTC.

If you did not expect this, cancel it in the dashboard under Receiving wallets. Any owner can do so until then.
""",
)


@transaction.atomic
def set_wallet_change_hours(merchant: Merchant, *, hours: int, now: datetime, actor: Actor = SYSTEM) -> Merchant:
    """Set the wait of new receiving wallets: longer at once, shorter after the current wait and with a mail to owners.

    Setting the current value cancels a pending shorter wait.  Raises InvalidRequestError.
    """
    if not 0 <= hours <= MOST_WALLET_CHANGE_HOURS:
        raise InvalidRequestError(
            pgettext_noop("team", "The wait must be from 0 to {most} hours."),
            param="hours",
            values={"most": MOST_WALLET_CHANGE_HOURS},
        )
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    before = _waits(merchant)
    if hours >= merchant.wallet_change_hours:
        _set(merchant, hours)
    elif hours != merchant.next_wallet_change_hours:
        _plan(merchant, hours, now)
        _tell(merchant, now, actor)
    if _waits(merchant) != before:
        record(
            merchant,
            action="merchant.wallet_change_hours_set",
            actor=actor,
            object_id=merchant.public_id,
            before=before,
            after=_waits(merchant),
            now=now,
        )
    return merchant


def apply_wallet_change_hours(*, now: datetime) -> int:
    """Apply the due shorter waits; return how many."""
    due = Merchant.objects.filter(next_wallet_change_hours_at__lte=now)
    return sum(_apply(pk, now) for pk in list(due.values_list("pk", flat=True)))


@transaction.atomic
def _apply(merchant_id: int, now: datetime) -> bool:
    locked = Merchant.objects.select_for_update(no_key=True)
    merchant = locked.get(pk=merchant_id)
    planned_at = merchant.next_wallet_change_hours_at
    if planned_at is None or planned_at > now:
        return False
    before = _waits(merchant)
    _set(merchant, merchant.next_wallet_change_hours or 0)
    record(
        merchant,
        action="merchant.wallet_change_hours_applied",
        object_id=merchant.public_id,
        before=before,
        after=_waits(merchant),
        now=now,
    )
    return True


def _set(merchant: Merchant, hours: int) -> None:
    merchant.wallet_change_hours = hours
    merchant.next_wallet_change_hours = None
    merchant.next_wallet_change_hours_at = None
    _save(merchant)


def _plan(merchant: Merchant, hours: int, now: datetime) -> None:
    wait = timedelta(hours=merchant.wallet_change_hours)
    merchant.next_wallet_change_hours = hours
    merchant.next_wallet_change_hours_at = now + wait
    _save(merchant)


def _save(merchant: Merchant) -> None:
    merchant.save(update_fields=["wallet_change_hours", "next_wallet_change_hours", "next_wallet_change_hours_at"])


def _waits(merchant: Merchant) -> dict[str, object]:
    waits: dict[str, object] = {"hours": merchant.wallet_change_hours}
    if at := merchant.next_wallet_change_hours_at:
        waits["next_hours"] = merchant.next_wallet_change_hours
        waits["from"] = at.isoformat(timespec="seconds")
    return waits


def _tell(merchant: Merchant, now: datetime, actor: Actor) -> None:
    at = merchant.next_wallet_change_hours_at
    mail_owners(
        merchant.pk,
        key=f"wallet-wait:{merchant.pk}:{now.timestamp():.6f}",
        subject=format_lazy(
            pgettext_lazy("team", "Receiving wallets of {merchant} will be changed faster"), merchant=merchant.name
        ),
        text=format_lazy(
            _SOONER,
            merchant=merchant.name,
            hours=merchant.wallet_change_hours,
            actor=actor.name if actor.user else pgettext_lazy("team", "Somebody"),
            wanted=merchant.next_wallet_change_hours,
            at=at,
        ),
        now=now,
    )
