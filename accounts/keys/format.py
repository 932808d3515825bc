"""The format of an API key: `sk_live_` or `sk_test_`, then 43 characters with 256 random bits."""

import hashlib
import secrets

from accounts.states import Mode


def new_key(mode: Mode) -> str:
    """Return a fresh key; the caller shows it once and keeps its digest."""
    return f"sk_{mode}_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> bytes:
    """Return the stored digest. SHA-256 suffices, because the key has 256 random bits."""
    return hashlib.sha256(key.encode()).digest()
