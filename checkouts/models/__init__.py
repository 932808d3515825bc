"""Checkouts, the payments credited to them, and the inbox for money that no rule could credit."""

from checkouts.models.checkouts import (
    REFERENCE_LENGTH,
    SUM_DIGITS,
    UNKEYED_REFERENCE,
    AmountReservation,
    Checkout,
    CheckoutCount,
    CheckoutQuerySet,
    DailyTotal,
    TestStep,
)
from checkouts.models.inbox import BuyerReport, InboxDecision, InboxItem
from checkouts.models.notes import TeamNote
from checkouts.models.payments import Payment
from checkouts.models.refunds import RefundNote

__all__ = [
    "REFERENCE_LENGTH",
    "SUM_DIGITS",
    "UNKEYED_REFERENCE",
    "AmountReservation",
    "BuyerReport",
    "Checkout",
    "CheckoutCount",
    "CheckoutQuerySet",
    "DailyTotal",
    "InboxDecision",
    "InboxItem",
    "Payment",
    "RefundNote",
    "TeamNote",
    "TestStep",
]
