"""Records a restore and notifies merchants."""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import F

from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.owners import mail_owners
from gateway.core import json
from gateway.core.restores import LONGEST_CHECKOUT, Restore
from gateway.core.times import iso
from settlements.gas.ledger import forget_numbers
from webhooks.models import EventCounter
from webhooks.outbox.events import NewEvent, publish

RESTORED: Final = "gateway.restored"
SEQUENCES_SKIPPED: Final = 1_000_000
"""The gap in event sequence numbers after a restore, so that new numbers are above those of lost events."""

_TEXT: Final = """We restored our database from a backup. What happened from {lost_from:%Y-%m-%d %H:%M} to
{restored_at:%Y-%m-%d %H:%M} UTC may be missing.

Payments to checkouts that we still have are found on the chains again and credited. Your server may be told of some a
second time: compare checkouts by their id.

Checkouts that you made in that time are lost. Money that comes for them goes to your inbox. Send us the ids of such
checkouts, so that we find their addresses again.

Please look at three things in the dashboard, because changes that you made in that time are undone:
- API keys: revoke again what you had revoked.
- Team: remove again whom you had removed.
- Receiving wallets: check that each address is yours.

{url}/dashboard/
"""


@transaction.atomic
def note_restore(lost_from: datetime, *, now: datetime) -> bool:
    """Record that everything from `lost_from` on may be missing; return False if that was recorded already.

    From now on gas accounts wait until nodes agree on their next nonces, exact amounts come from a reserved set, a price
    alone matches no checkout, and event numbers begin above the lost ones. Owners get a mail, and endpoints an event.
    """
    hold = timedelta(hours=settings.EXACT_AMOUNT_HOLD_HOURS)
    restore, is_new = Restore.objects.get_or_create(
        lost_from=lost_from, defaults={"restored_at": now, "amounts_until": now + LONGEST_CHECKOUT + hold}
    )
    if is_new:
        forget_numbers()
        record(
            None, action=RESTORED, now=now, actor_label="manage.py after_restore", after={"lost_from": iso(lost_from)}
        )
        _tell_merchants(restore, now)
    return is_new


def _tell_merchants(restore: Restore, now: datetime) -> None:
    merchants = list(Merchant.objects.filter(closed_at=None).order_by("pk"))
    text = _TEXT.format(lost_from=restore.lost_from, restored_at=restore.restored_at, url=settings.BASE_URL)
    for merchant in merchants:
        mail_owners(
            merchant.pk,
            key=f"restored:{merchant.public_id}:{iso(restore.lost_from)}",
            subject="Please check your account: we restored a backup",
            text=text,
            now=now,
        )
    EventCounter.objects.update(value=F("value") + SEQUENCES_SKIPPED)
    publish([_event(merchant, mode, restore) for merchant in merchants for mode in Mode], now=now)


def _event(merchant: Merchant, mode: Mode, restore: Restore) -> NewEvent:
    what = {"lost_from": iso(restore.lost_from), "restored_at": iso(restore.restored_at)}
    return NewEvent(
        merchant_id=merchant.pk,
        mode=mode,
        type=RESTORED,
        subject_id="",
        occurrence=f"{RESTORED}:{merchant.public_id}:{mode}:{iso(restore.lost_from)}",
        data=json.dumps(what),
    )
