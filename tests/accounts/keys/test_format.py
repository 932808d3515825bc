"""The shape of an API key."""

import hashlib

import pytest

from accounts.keys.format import digest_of, new_key
from accounts.states import Mode


@pytest.mark.parametrize("mode", Mode)
def test_a_key_says_its_mode_and_carries_256_random_bits(mode: Mode) -> None:
    key = new_key(mode)
    assert key.startswith(f"sk_{mode}_")
    assert len(key.removeprefix(f"sk_{mode}_")) == 43
    assert new_key(mode) != key


def test_what_is_stored_is_a_digest() -> None:
    assert digest_of("sk_test_a") == hashlib.sha256(b"sk_test_a").digest()
