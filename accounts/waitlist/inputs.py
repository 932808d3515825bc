"""Validated waitlist requests."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Interest:
    """A waitlist request. Missing texts are empty; `monthly_volume` is USD a month."""

    email: str
    company: str
    country: str
    monthly_volume: Decimal | None
