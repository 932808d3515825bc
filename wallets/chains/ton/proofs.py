"""Verifies TON signatures: Ed25519 over the message itself. Pure.

An address does not reveal its key: the key is given too, and must belong to a standard wallet (v3, v4 or v5) at this
address.
"""

import base64
import binascii

from wallets.chains.evm.proofs import from_hex
from wallets.chains.solana.proofs import verifies
from wallets.chains.ton.wallets import standard_wallets


def is_signed(wallet: bytes, message: bytes, text: str, *, public_key: str) -> bool:
    """Whether the key of a wallet signed a message; the signature is base64, the key 32 bytes in hexadecimal."""
    key = from_hex(public_key)
    try:
        signature = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(key) != 32 or not verifies(key, message, signature):
        return False
    return wallet in standard_wallets(key)
