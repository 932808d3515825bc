"""Encrypts secrets that must be recoverable (webhook secrets), with keys from the environment."""

from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class SecretUnreadableError(Exception):
    """None of the configured keys decrypts this secret."""


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    if not keys:
        raise ImproperlyConfigured(
            "ENCRYPTION_KEYS is empty; docs/guide/configuration.md says how to make one."
        )
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
