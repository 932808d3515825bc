"""Secrets that must be recoverable rest encrypted."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from gateway.core.secrets import Resealed, SecretUnreadableError, seal, unseal

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_a_secret_is_read_after_the_keys_were_turned_over(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal("whsec_a")
    assert b"whsec_a" not in sealed
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert unseal(sealed) == "whsec_a"


def test_new_secrets_need_the_new_key(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    sealed = seal("whsec_a")
    settings.ENCRYPTION_KEYS = [OLD]
    with pytest.raises(SecretUnreadableError):
        unseal(sealed)


def test_without_keys_nothing_is_kept(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(ImproperlyConfigured, match="ENCRYPTION_KEYS"):
        seal("whsec_a")


def test_renewing_counts_and_leaves_what_is_current(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal("whsec_a")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    counted = Resealed()
    renewed = counted.renew(sealed)
    assert renewed is not None
    assert counted.renew(renewed) is None
    assert counted.renew(b"no token") is None
    assert counted == Resealed(current=1, older=1, unreadable=1)
    settings.ENCRYPTION_KEYS = [NEW]
    assert unseal(renewed) == "whsec_a"
