"""Verifies Tron signatures: of TRON messages (TIP-191, version 2). Pure."""

from typing import Final

from wallets.chains.evm import proofs

_PREFIX: Final = b"\x19TRON Signed Message:\n"


def is_signed(key: bytes, message: bytes, signature: str) -> bool:
    """Whether the account of these 20 bytes signed a message; `signature` is hexadecimal."""
    return proofs.is_signed(key, message, signature, prefix=_PREFIX)
