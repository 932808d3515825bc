"""Unguessable identifiers: a prefix that names the kind, then 130 random bits in Crockford's base 32."""

import secrets

# Crockford's alphabet (https://www.crockford.com/base32.html) leaves out i, l, o and u, which are easily confused.
ALPHABET = b"0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 26
# 256 is a multiple of 32, so every character is as likely as any other.
_BYTE_TO_CHARACTER = bytes(ALPHABET[byte % len(ALPHABET)] for byte in range(256))


def new_code() -> str:
    """Return 26 characters carrying 130 random bits, for page addresses."""
    return secrets.token_bytes(LENGTH).translate(_BYTE_TO_CHARACTER).decode()


def new_id(prefix: str) -> str:
    """Return a public id such as `evt_7yk...`; `prefix` comes without its underscore."""
    return f"{prefix}_{new_code()}"
