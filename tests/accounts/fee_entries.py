"""Payments that completed, and the fees that were charged for them."""

import secrets
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.fees.service import CompletedPayment, charge, unvoid, void
from accounts.models import FeeEntry, Merchant
from accounts.states import FeeKind
from tests.factories import NOON


def completed(merchant: Merchant, received: str = "25.003700", **facts: Any) -> CompletedPayment:
    """A checkout that was paid in USDC on Base."""
    usual = {
        "kind": FeeKind.CHECKOUT,
        "subject_id": f"chk_live_{secrets.token_hex(12)}",
        "chain": "base",
        "token": "USDC",
    }
    return CompletedPayment(merchant_id=merchant.pk, received=Decimal(received), **(usual | facts))


def charged(
    merchant: Merchant,
    received: str = "25.003700",
    *,
    at: datetime = NOON,
    voided_at: datetime | None = None,
    again_at: datetime | None = None,
    **facts: Any,
) -> FeeEntry:
    """The fee of such a payment, taken back and charged again where there is a time for it."""
    payment = completed(merchant, received, **facts)
    charge([payment], now=at)
    if voided_at is not None:
        void(payment.kind, [payment.subject_id], now=voided_at)
    if again_at is not None:
        unvoid(payment.kind, [payment.subject_id], now=again_at)
    return FeeEntry.objects.get(kind=payment.kind, subject_id=payment.subject_id, number=0)


def booked(subject_id: str) -> list[tuple[datetime, Decimal]]:
    """What the books say about a payment: when, and how much."""
    entries = FeeEntry.objects.filter(subject_id=subject_id).order_by("number")
    return list(entries.values_list("charged_at", "amount"))
