"""Whose signature it is, judged as tokens and Permit2 judge it."""

from dataclasses import dataclass
from typing import Final

from wallets.chains.pool import RpcPool
from wallets.signatures import signer_of
from x402.exact.errors import RevertedError
from x402.exact.evm import contracts
from x402.exact.evm.contracts import Function

KEY_BYTES: Final = 65
"""A signature of a key's: r, s and v."""

_WRAPPED: Final = bytes.fromhex("6492" * 16)
_VOUCHES: Final = Function("isValidSignature", ("bytes32", "bytes"), "bytes4")
_VOUCHED: Final = bytes.fromhex("1626ba7e")


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature, taken out of its wrapping (ERC-6492); `deploys`: whether that would deploy the wallet first."""

    inner: bytes
    deploys: bool = False


def unwrapped(signature: bytes) -> Signature:
    """Read a signature. Raises ValueError where it is wrapped badly. Source: ERC-6492."""
    from eth_abi.exceptions import DecodingError

    if not signature.endswith(_WRAPPED):
        return Signature(signature)
    kinds = ("address", "bytes", "bytes")
    try:
        factory, calldata, inner = contracts.coder().decode(
            kinds, signature[: -len(_WRAPPED)]
        )
    except (DecodingError, OverflowError) as error:
        raise ValueError("a signature is wrapped badly") from error
    return Signature(inner, deploys=bool(int(factory, 16)) and bool(calldata))


def is_of_key(payer: str, signed: bytes, signature: bytes) -> bool:
    """Whether the key of an account signed 32 bytes. Raises ValueError where `v` is none."""
    if len(signature) != KEY_BYTES or signature[-1] not in (0, 1, 27, 28):
        raise ValueError("no key signs so")
    return signer_of(signed, signature) == bytes.fromhex(payer[2:])


def is_vouched_for(pool: RpcPool, wallet: str, signed: bytes, signature: bytes) -> bool:
    """Whether a wallet's contract says that 32 bytes are signed (ERC-1271). Raises ChainError."""
    try:
        answer = contracts.read(pool, wallet, _VOUCHES, signed, signature)
    except RevertedError:
        return False
    return bool(answer == _VOUCHED)
