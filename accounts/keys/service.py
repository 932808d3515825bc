"""Creates and revokes API keys."""

import hashlib
import secrets
from datetime import datetime

from django.db import transaction

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import ApiKey, Merchant
from accounts.states import Mode


def new_key(mode: Mode) -> str:
    """Return a fresh key; the caller shows it once and keeps its digest."""
    return f"sk_{mode}_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> bytes:
    """Return the stored digest. SHA-256 suffices, because the key has 256 random bits."""
    return hashlib.sha256(key.encode()).digest()


@transaction.atomic
def create_api_key(
    merchant: Merchant, *, mode: Mode, name: str, now: datetime, actor: Actor = SYSTEM
) -> tuple[ApiKey, str]:
    """Create a key and return it with its secret, which cannot be shown again."""
    secret = new_key(mode)
    key = ApiKey.objects.create(
        merchant=merchant, mode=mode, name=name, digest=digest_of(secret), last_four=secret[-4:], created_at=now
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
def revoke_api_key(key: ApiKey, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Revoke a key; every process stops accepting it within API_KEY_CACHE_SECONDS. Idempotent."""
    changed = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now)
    if changed:
        record(key.merchant, action="api_key.revoked", actor=actor, object_id=key.public_id, now=now)
