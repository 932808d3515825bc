"""A merchant's schedule of automatic settlements: interval and minimum."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.audit.service import record
from accounts.models import Merchant, User
from gateway.core.api.errors import InvalidRequestError
from gateway.core.money import CENT
from settlements.models import SettlementSettings

MOST_HOURS = 31 * 24
MOST_MINIMUM = Decimal(1_000_000)


def settings_of(merchant: Merchant) -> SettlementSettings:
    """Return a merchant's settings; an unsaved row with defaults if there are none."""
    found = SettlementSettings.objects.filter(merchant=merchant).first()
    if found is None:
        found = SettlementSettings(merchant=merchant)
        # The field's default does not have the database's type yet.
        found.minimum = Decimal(found.minimum)
    return found


@transaction.atomic
def set_intervals(
    merchant: Merchant,
    *,
    minimum: Decimal,
    every_hours: int,
    actor: User | None,
    now: datetime,
    client: str | None = None,
) -> SettlementSettings:
    """Settle automatically from `minimum` USD on, every so many hours; 0 for never. Raises InvalidRequestError.

    `client` is the caller's network address.
    """
    if not 0 <= every_hours <= MOST_HOURS:
        raise InvalidRequestError(f"The hours must be from 0 to {MOST_HOURS}.", param="every_hours")
    if not 0 <= minimum <= MOST_MINIMUM or minimum != minimum.quantize(CENT):
        raise InvalidRequestError(
            f"The minimum must be from 0 to {MOST_MINIMUM:,} USD, in whole cents.", param="minimum"
        )
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    settings = settings_of(merchant)
    before = _told(settings)
    settings.minimum, settings.every_hours = minimum, every_hours
    if _told(settings) == before:
        return settings
    settings.save()
    record(
        merchant,
        action="settlements.intervals_set",
        actor=actor,
        before=before,
        after=_told(settings),
        address=client,
        now=now,
    )
    return settings


def _told(settings: SettlementSettings) -> dict[str, Any]:
    return {"minimum": f"{settings.minimum:.2f}", "every_hours": settings.every_hours}
