"""Merchants, the people of their teams, their keys, their fees, the audit log, and the waitlist for cards."""

from accounts.models.accounts import (
    MOST_NETWORKS,
    MOST_WALLET_CHANGE_HOURS,
    ApiKey,
    AuditEntry,
    AuditSeal,
    Branding,
    FeeDay,
    FeeEntry,
    Guesses,
    Invitation,
    Membership,
    Merchant,
    User,
    UserManager,
)
from accounts.models.waitlist import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH, FiatInterest

__all__ = [
    "COMPANY_LENGTH",
    "COUNTRY_LENGTH",
    "EMAIL_LENGTH",
    "MOST_NETWORKS",
    "MOST_WALLET_CHANGE_HOURS",
    "ApiKey",
    "AuditEntry",
    "AuditSeal",
    "Branding",
    "FeeDay",
    "FeeEntry",
    "FiatInterest",
    "Guesses",
    "Invitation",
    "Membership",
    "Merchant",
    "User",
    "UserManager",
]
