"""Writes the audit log."""

from datetime import datetime
from typing import Any

from accounts.models import AuditEntry, Merchant, User


def record(
    merchant: Merchant | None,
    *,
    action: str,
    now: datetime,
    actor: User | None = None,
    actor_label: str = "",
    object_id: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    address: str | None = None,
) -> AuditEntry:
    """Write an audit entry in the caller's transaction."""
    return AuditEntry.objects.create(
        merchant=merchant,
        actor=actor,
        actor_label=actor_label or (actor.email if actor else "system"),
        action=action,
        object_id=object_id,
        before=before,
        after=after,
        address=address,
        created_at=now,
    )
