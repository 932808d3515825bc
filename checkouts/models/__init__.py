"""Checkouts, the payments credited to them, the inbox for money that no rule could credit, and terminals."""

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
    Quote,
    TeamNote,
    TestStep,
)
from checkouts.models.inbox import Acceptance, BuyerReport, Decision, InboxDecision, InboxItem
from checkouts.models.payments import Payment, Receipt, RefundNote
from checkouts.models.terminals import Terminal, TerminalSale

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
    "Quote",
    "Receipt",
    "RefundNote",
    "TeamNote",
    "Terminal",
    "TerminalSale",
    "TestStep",
]
