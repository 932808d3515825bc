"""Verifies Solana signatures: Ed25519 over the message itself. Pure."""

from typing import Final

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_PRIME: Final = 2**255 - 19
_SIGN_BIT: Final = 1 << 255
# The y of the eight points whose multiples end at once, and so have no secret key: RFC 8032, 5.1.
_Y_OF_ORDER_8: Final = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL_ORDER: Final = {0, 1, _PRIME - 1, _Y_OF_ORDER_8, _PRIME - _Y_OF_ORDER_8}


def is_signed(key: bytes, message: bytes, signature: str) -> bool:
    """Whether a public key of 32 bytes signed a message; `signature` is base58."""
    try:
        signed = base58.b58decode(signature)
    except ValueError:
        return False
    return verifies(key, message, signed)


def verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature is of this key and message, by the strict rules of Solana (`verify_strict`).

    A point of small order verifies signatures that nobody made, and a point has one encoding: others are refused.
    """
    if not _is_strict(key) or not _is_strict(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_strict(point: bytes) -> bool:
    y = int.from_bytes(point, "little") & ~_SIGN_BIT
    return len(point) == 32 and y < _PRIME and y not in _SMALL_ORDER
