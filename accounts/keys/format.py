"""The shape of an API key: `sk_live_` or `sk_test_`, then 43 characters carrying 256 random bits."""

import hashlib
import secrets

from accounts.states import Mode


def new_key(mode: Mode) -> str:
    """Return a fresh key; the caller shows it once and keeps its digest."""
    return f"sk_{mode}_{secrets.token_urlsafe(32)}"


def digest_of(key: str) -> bytes:
    """Return what is stored and looked up. SHA-256 suffices: the key has 256 bits of its own."""
    return hashlib.sha256(key.encode()).digest()
