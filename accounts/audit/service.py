"""Writes the audit log."""

from datetime import datetime
from typing import Any

from accounts.audit.actors import SYSTEM, Actor
from accounts.models import AuditEntry, Merchant


def record(
    merchant: Merchant | None,
    *,
    action: str,
    now: datetime,
    actor: Actor = SYSTEM,
    object_id: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """Write an audit entry in the caller's transaction."""
    return AuditEntry.objects.create(
        merchant=merchant,
        actor=actor.user,
        actor_label=actor.name,
        action=action,
        object_id=object_id,
        before=before,
        after=after,
        address=actor.address,
        created_at=now,
    )
