"""The merchant's export of its own data, team, keys and audit log."""

from collections.abc import Iterator
from typing import Final

from accounts.models import ApiKey, AuditEntry, FeeEntry, Membership, Merchant
from gateway.core.exports import ExportTable, table_of

_MERCHANT: Final = """
    public_id name fee_tier fee_rate buyers_may_retry mails_receipts wallet_change_hours branding__display_name
    branding__accent branding__support_url branding__terms_url branding__return_label branding__legal_lines branding__domain created_at closed_at time_zone rate_margin price_currency
"""
_FEE: Final = "kind subject_id number chain token received rate amount charged_at"
_AUDIT: Final = "created_at actor_label action object_id before after address"


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of("merchant", Merchant.objects.filter(pk=merchant.pk), _MERCHANT)
    yield table_of("team", Membership.objects.filter(merchant=merchant), "user__email user__name role created_at")
    yield table_of(
        "api_keys",
        ApiKey.objects.filter(merchant=merchant),
        "public_id mode name last_four scopes allowed_networks created_at expires_at last_used_at revoked_at",
    )
    yield table_of("fees", FeeEntry.objects.filter(merchant=merchant), _FEE)
    yield table_of("audit_log", AuditEntry.objects.filter(merchant=merchant), _AUDIT)
