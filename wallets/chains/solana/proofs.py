"""Verifies Solana signatures: Ed25519 over the message itself. Pure."""

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_signed(key: bytes, message: bytes, signature: str) -> bool:
    """Whether a public key of 32 bytes signed a message; `signature` is base58."""
    try:
        signed = base58.b58decode(signature)
    except ValueError:
        return False
    return verifies(key, message, signed)


def verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature is of this key and message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
