"""Merchants, the people of their teams, their keys, their fees, the audit log, and the waitlist for cards."""

from accounts.models.accounts import (
    MOST_NETWORKS,
    MOST_WALLET_CHANGE_HOURS,
    REQUEST_PATH_LENGTH,
    REQUEST_SLOTS,
    ApiKey,
    ApiRequest,
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
from accounts.models.idempotency import IdempotencyKey, IdempotentRequest
from accounts.models.waitlist import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH, FiatInterest

__all__ = [
    "COMPANY_LENGTH",
    "COUNTRY_LENGTH",
    "EMAIL_LENGTH",
    "MOST_NETWORKS",
    "MOST_WALLET_CHANGE_HOURS",
    "REQUEST_PATH_LENGTH",
    "REQUEST_SLOTS",
    "ApiKey",
    "ApiRequest",
    "AuditEntry",
    "AuditSeal",
    "Branding",
    "FeeDay",
    "FeeEntry",
    "FiatInterest",
    "Guesses",
    "IdempotencyKey",
    "IdempotentRequest",
    "Invitation",
    "Membership",
    "Merchant",
    "User",
    "UserManager",
]
