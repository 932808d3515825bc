"""Changes to merchants, teams and keys. Each that touches money or access writes an audit entry beside it."""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.keys import digest_of, new_key
from accounts.models import ApiKey, AuditEntry, Membership, Merchant, User
from accounts.states import Mode, Role


@transaction.atomic
def create_merchant(*, name: str, owner: User, now: datetime) -> Merchant:
    """Create a merchant whose first owner is `owner`."""
    merchant = Merchant.objects.create(name=name, created_at=now)
    Membership.objects.create(
        merchant=merchant, user=owner, role=Role.OWNER, created_at=now
    )
    record(
        merchant,
        action="merchant.created",
        actor=owner,
        object_id=merchant.public_id,
        now=now,
    )
    return merchant


@transaction.atomic
def let_buyers_retry(
    merchant: Merchant, *, allowed: bool, now: datetime, actor: User | None = None
) -> None:
    """Say whether buyers may make an expired checkout afresh, at the price it had. Saying it twice changes nothing."""
    changed = (
        Merchant.objects.filter(pk=merchant.pk)
        .exclude(buyers_may_retry=allowed)
        .update(buyers_may_retry=allowed)
    )
    merchant.buyers_may_retry = allowed
    if changed:
        record(
            merchant,
            action="merchant.retry_switched",
            actor=actor,
            object_id=merchant.public_id,
            before={"buyers_may_retry": not allowed},
            after={"buyers_may_retry": allowed},
            now=now,
        )


@transaction.atomic
def create_api_key(
    merchant: Merchant,
    *,
    mode: Mode,
    name: str,
    now: datetime,
    actor: User | None = None,
) -> tuple[ApiKey, str]:
    """Create a key and return it with its secret, which nobody can be shown again."""
    secret = new_key(mode)
    key = ApiKey.objects.create(
        merchant=merchant,
        mode=mode,
        name=name,
        digest=digest_of(secret),
        last_four=secret[-4:],
        created_at=now,
    )
    record(
        merchant,
        action="api_key.created",
        actor=actor,
        object_id=key.public_id,
        after={"mode": mode, "name": name},
        now=now,
    )
    return key, secret


@transaction.atomic
def revoke_api_key(key: ApiKey, *, now: datetime, actor: User | None = None) -> None:
    """Revoke a key; every worker forgets it within API_KEY_CACHE_SECONDS. Revoking twice changes nothing."""
    changed = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now)
    if changed:
        record(
            key.merchant,
            action="api_key.revoked",
            actor=actor,
            object_id=key.public_id,
            now=now,
        )


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
