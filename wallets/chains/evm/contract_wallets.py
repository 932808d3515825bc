"""Signatures of contract wallets on EVM chains (ERC-1271), checked by calling the wallet's contract on the chain's nodes.

Only the exact answer of ERC-1271 counts as a yes; everything else is a no.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node, RefusedError
from wallets.chains.rpc.pool import RpcPool

_WRAPPED: Final = bytes.fromhex("6492" * 16)
# isValidSignature(bytes32,bytes); the contract answers with the same bytes4, padded to 32 bytes.
_VOUCHES: Final = bytes.fromhex("1626ba7e")
_VOUCHED: Final = _VOUCHES.ljust(32, b"\0")
_ASK_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature without its wrapping (ERC-6492); `deploys`: whether the wrapping would deploy the wallet first."""

    inner: bytes
    deploys: bool = False


def unwrapped(signature: bytes) -> Signature:
    """Unwrap a signature. Raises ValueError if the wrapping is malformed. Source: ERC-6492."""
    # Slow to import, and few proofs are signed.
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    if not signature.endswith(_WRAPPED):
        return Signature(signature)
    kinds = ("address", "bytes", "bytes")
    try:
        factory, calldata, inner = decode(kinds, signature[: -len(_WRAPPED)])
    except (DecodingError, OverflowError) as error:
        raise ValueError("a signature is wrapped badly") from error
    return Signature(inner, deploys=bool(int(factory, 16)) and bool(calldata))


def is_vouched_for(pool: RpcPool, wallet: str, signed: bytes, signature: bytes) -> bool:
    """Whether a wallet's contract confirms a signature of 32 bytes. Without a contract, False.

    Raises ChainError if no node can answer, or none answers in hexadecimal.
    """
    return is_yes(pool.run(question(wallet, signed, signature)))


def question(wallet: str, signed: bytes, signature: bytes) -> Callable[[Node], bytes]:
    """Return a question for one node: does the wallet's contract confirm the signature? `is_yes` reads its answer."""
    from eth_abi.abi import encode

    data = _VOUCHES + encode(("bytes32", "bytes"), (signed, signature))
    call = {"to": wallet, "data": "0x" + data.hex()}
    return lambda node: _answer(node, call)


def is_yes(answer: bytes) -> bool:
    """Return whether a contract's answer is a yes."""
    return answer == _VOUCHED


def _answer(node: Node, call: dict[str, str]) -> bytes:
    """Return the first 32 bytes of a contract's answer; empty if it reverts."""
    try:
        answer = node.call("eth_call", [call, "latest"], seconds=_ASK_SECONDS)
    except RefusedError as error:
        if not error.is_revert:
            raise
        return b""
    return _bytes(answer)[:32]


def _bytes(answer: Any) -> bytes:
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise MalformedAnswerError("a contract's answer is not in hex")
    try:
        return bytes.fromhex(answer[2:])
    except ValueError:
        raise MalformedAnswerError("a contract's answer is not in hex") from None
