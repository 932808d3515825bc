"""System checks of the installation as a whole, with ids that operators can look up."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MOST_KEY_CACHE_SECONDS = 5
LEAST_HOLD_HOURS = 24


@register()
def revocation_is_prompt(**_: Any) -> list[CheckMessage]:
    """A revoked key is refused everywhere within five seconds; that is promised to merchants."""
    if settings.API_KEY_CACHE_SECONDS <= MOST_KEY_CACHE_SECONDS:
        return []
    return [
        Error(
            "API_KEY_CACHE_SECONDS is more than five.",
            hint="A revoked key would work for longer than merchants are promised.",
            id="gateway.E001",
        )
    ]


@register()
def late_money_meets_no_stranger(**_: Any) -> list[CheckMessage]:
    """An exchange may take a day to send; until then nobody else may wait for the same amount."""
    short, usual = (
        settings.EXACT_AMOUNT_SHORT_HOLD_HOURS,
        settings.EXACT_AMOUNT_HOLD_HOURS,
    )
    if LEAST_HOLD_HOURS <= short <= usual:
        return []
    return [
        Error(
            "Exact amounts are given to other checkouts too soon.",
            hint="EXACT_AMOUNT_SHORT_HOLD_HOURS must be at least 24, and EXACT_AMOUNT_HOLD_HOURS no less than that.",
            id="gateway.E002",
        )
    ]
