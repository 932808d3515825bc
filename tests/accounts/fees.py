"""Payments that completed, and the fees that were charged for them."""

import secrets
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.models import FeeEntry, Merchant
from accounts.services.fees import CompletedPayment, charge
from accounts.states import FeeKind
from tests.factories import NOON


def completed(
    merchant: Merchant, received: str = "25.003700", **facts: Any
) -> CompletedPayment:
    """A checkout that was paid in USDC on Base."""
    usual = {
        "kind": FeeKind.CHECKOUT,
        "subject_id": f"chk_live_{secrets.token_hex(12)}",
        "chain": "base",
        "token": "USDC",
    }
    return CompletedPayment(
        merchant_id=merchant.pk, received=Decimal(received), **(usual | facts)
    )


def charged(
    merchant: Merchant,
    received: str = "25.003700",
    *,
    at: datetime = NOON,
    voided_at: datetime | None = None,
    **facts: Any,
) -> FeeEntry:
    """The fee of such a payment."""
    payment = completed(merchant, received, **facts)
    charge([payment], now=at)
    entry = FeeEntry.objects.get(kind=payment.kind, subject_id=payment.subject_id)
    entry.voided_at = voided_at
    entry.save(update_fields=["voided_at"])
    return entry
