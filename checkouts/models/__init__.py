"""Checkouts, the payments credited to them, and the inbox for money that no rule could credit."""

from checkouts.models.checkouts import (
    MOST_LETTERS,
    REFERENCE_LENGTH,
    SUM_DIGITS,
    UNKEYED_REFERENCE,
    AmountReservation,
    Checkout,
    CheckoutCount,
    CheckoutQuerySet,
    CustomerNote,
    DailyTotal,
    TeamNote,
    TestStep,
)
from checkouts.models.inbox import Acceptance, BuyerReport, Decision, InboxDecision, InboxItem
from checkouts.models.payments import Payment, RefundNote

__all__ = [
    "MOST_LETTERS",
    "REFERENCE_LENGTH",
    "SUM_DIGITS",
    "UNKEYED_REFERENCE",
    "Acceptance",
    "AmountReservation",
    "BuyerReport",
    "Checkout",
    "CheckoutCount",
    "CheckoutQuerySet",
    "CustomerNote",
    "DailyTotal",
    "Decision",
    "InboxDecision",
    "InboxItem",
    "Payment",
    "RefundNote",
    "TeamNote",
    "TestStep",
]
