"""The time zone in which a merchant's months begin and end. Times are stored in UTC whatever it is."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from accounts.audit.actors import SYSTEM, Actor
from accounts.merchants.service import set_value
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from gateway.core.texts import pgettext_noop

USUAL: Final = "UTC"
# Files of the database that are no place's time.
_NO_PLACES: Final = frozenset({"Factory", "localtime", "posixrules"})


@cache
def zone_names() -> Sequence[str]:
    """Return IANA's names of the time zones that this machine knows, in order. UTC is one of them everywhere."""
    return sorted((available_timezones() - _NO_PLACES) | {USUAL})


def zone_of(merchant: Merchant) -> tzinfo:
    """Return a merchant's time zone; UTC where this machine no longer knows it, which pages say by its name."""
    if merchant.time_zone == USUAL:
        return UTC
    try:
        return ZoneInfo(merchant.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def set_time_zone(merchant: Merchant, name: str, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Set a merchant's time zone. The same one again is not audited. Raises InvalidRequestError for an unknown one."""
    if name not in zone_names():
        raise InvalidRequestError(
            pgettext_noop("team", "Choose a time zone of the list, such as Europe/Berlin."), param="time_zone"
        )
    set_value(merchant, "time_zone", name, now=now, actor=actor)
