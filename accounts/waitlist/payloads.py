"""Serializes waitlist entries for the API."""

from typing import Any

from accounts.models import FiatInterest
from accounts.states import Mode
from gateway.core.money import format_usd
from gateway.core.times import iso


def interest_payload(interest: FiatInterest) -> dict[str, Any]:
    """Return the API object of a waitlist entry."""
    volume = interest.monthly_volume
    return {
        "id": interest.public_id,
        "email": interest.email,
        "company": interest.company or None,
        "country": interest.country or None,
        "monthly_volume": None if volume is None else format_usd(volume),
        "livemode": interest.mode == Mode.LIVE,
        "created_at": iso(interest.created_at),
    }
