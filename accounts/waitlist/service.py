"""Stores the waitlist."""

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Lower

from accounts.models import FiatInterest
from accounts.states import Mode


@dataclass(frozen=True, slots=True)
class Interest:
    """A person's interest. Texts not given are empty; `monthly_volume` is USD a month."""

    email: str
    company: str
    country: str
    monthly_volume: Decimal | None


def keep_interest(merchant_id: int, mode: Mode, interest: Interest, *, now: datetime) -> tuple[FiatInterest, bool]:
    """Store an interest; return whether it is new. An address is stored once, ignoring case.

    A repeat does not change the first entry.
    """
    try:
        with transaction.atomic():
            kept = FiatInterest.objects.create(merchant_id=merchant_id, mode=mode, created_at=now, **asdict(interest))
    except IntegrityError:
        # The database folds both addresses, as its constraint did.
        first = FiatInterest.objects.alias(folded=Lower("email")).get(
            merchant=merchant_id, mode=mode, folded=Lower(Value(interest.email))
        )
        return first, False
    return kept, True
