"""What a request says, once it was read."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Interest:
    """Who is interested. Texts are empty where nothing was said; `monthly_volume` is USD a month."""

    email: str
    company: str
    country: str
    monthly_volume: Decimal | None
