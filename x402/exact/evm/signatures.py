"""Verifies key signatures as tokens and Permit2 do. For contract wallets see `wallets/chains/evm/contract_wallets.py`."""

from typing import Final

from wallets.chains.evm.contract_wallets import Signature, is_vouched_for, unwrapped
from wallets.chains.evm.proofs import signer_of

__all__ = ["KEY_BYTES", "Signature", "is_of_key", "is_vouched_for", "unwrapped"]

KEY_BYTES: Final = 65
"""The length of a key's signature: r, s and v."""


def is_of_key(payer: str, signed: bytes, signature: bytes) -> bool:
    """Whether the key of an account signed 32 bytes. Raises ValueError for an invalid `v`."""
    if len(signature) != KEY_BYTES or signature[-1] not in (0, 1, 27, 28):
        raise ValueError("no key signs so")
    return signer_of(signed, signature) == bytes.fromhex(payer[2:])
