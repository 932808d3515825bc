"""Encrypts secrets that must be recoverable (webhook secrets), with keys from the environment.

Other secrets are derived from the same keys, so that they can be recomputed if the database is lost.
"""

import hmac
import secrets
from dataclasses import dataclass
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class SecretUnreadableError(Exception):
    """None of the configured keys decrypts this secret."""


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured("ENCRYPTION_KEYS is empty; docs/guide/configuration.md says how to make one.")
    return MultiFernet([Fernet(key) for key in keys])


def seal(text: str) -> bytes:
    """Encrypt under the first configured key."""
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(text.encode())


def unseal(token: bytes) -> str:
    """Decrypt with the configured key that fits. Raises SecretUnreadableError."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(bytes(token)).decode()
    except InvalidToken as error:
        raise SecretUnreadableError("no configured key opens this secret") from error


def derive(name: str) -> bytes:
    """Return 32 bytes derived from a name with the first configured key; random bytes if no key is configured."""
    return next(iter(derivations(name)), None) or secrets.token_bytes(32)


def derivations(name: str) -> list[bytes]:
    """Return the 32 bytes that each configured key derives from a name. One of them is an earlier result of `derive`."""
    keys = settings.ENCRYPTION_KEYS
    return [hmac.digest(key.encode(), name.encode(), "sha256") for key in keys]


@dataclass
class Resealed:
    """How many stored secrets the first key encrypts, how many an older one does or did, and how many none opens."""

    current: int = 0
    older: int = 0
    unreadable: int = 0

    def renew(self, token: bytes) -> bytes | None:
        """Count a stored secret, and return it encrypted under the first key; None if nothing is to be changed."""
        keys = tuple(settings.ENCRYPTION_KEYS)
        try:
            _fernet(keys[:1]).decrypt(token)
        except InvalidToken:
            pass
        else:
            self.current += 1
            return None
        try:
            renewed = _fernet(keys).rotate(token)
        except InvalidToken:
            self.unreadable += 1
            return None
        self.older += 1
        return renewed
