"""Identifiers nobody can guess: a prefix that says what it names, then 128 random bits in base 58."""

import secrets

# Base 58 leaves out 0, O, I and l, which people confuse when they read an id aloud.
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LENGTH = 22  # 58**22 > 2**128


def new_code() -> str:
    """Return 22 base-58 characters carrying 128 random bits, for page addresses."""
    number = secrets.randbits(128)
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 58)
        digits.append(ALPHABET[digit])
    return "".join(digits)


def new_id(prefix: str) -> str:
    """Return a public id such as `evt_7Yk...`; `prefix` comes without its underscore."""
    return f"{prefix}_{new_code()}"
