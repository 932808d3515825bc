"""Stores the waitlist."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Lower

from accounts.models import FiatInterest
from accounts.states import Mode


def keep_interest(
    merchant_id: int, mode: Mode, interest: Mapping[str, Any], *, now: datetime
) -> tuple[FiatInterest, bool]:
    """Store an interest, given by column; return whether it is new. An address is stored once, ignoring case.

    A repeat does not change the first entry.
    """
    try:
        with transaction.atomic():
            kept = FiatInterest.objects.create(merchant_id=merchant_id, mode=mode, created_at=now, **interest)
    except IntegrityError:
        # The database folds both addresses, as its constraint did.
        first = FiatInterest.objects.alias(folded=Lower("email")).get(
            merchant=merchant_id, mode=mode, folded=Lower(Value(interest["email"]))
        )
        return first, False
    return kept, True
