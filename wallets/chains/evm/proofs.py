"""Verifies signatures on EVM chains: of personal messages (EIP-191), typed data (EIP-712), and contract wallets (ERC-1271).

A contract wallet is called on the chain's nodes. Only the exact answer of ERC-1271 counts as a yes; everything else is a no.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node, RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak

Types: TypeAlias = Mapping[str, Mapping[str, str]]
"""The fields of each EIP-712 struct with their types; the first struct is the signed one."""

_DOMAIN: Final = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
_PREFIX: Final = b"\x19Ethereum Signed Message:\n"
_RECOVERABLE_BYTES: Final = 65
# Each signature has a second valid form; EIP-2 accepts the one with the lower s.
_LARGEST_S: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
# The end of a signature that wraps another (ERC-6492).
_WRAPPED: Final = bytes.fromhex("6492" * 16)
# isValidSignature(bytes32,bytes); the contract answers with the same bytes4, padded to 32 bytes.
_VOUCHES: Final = bytes.fromhex("1626ba7e")
_VOUCHED: Final = _VOUCHES.ljust(32, b"\0")
_ASK_SECONDS: Final = 5.0


def is_signed(
    key: bytes, message: bytes, signature: str, *, digests: Sequence[bytes] = (), prefix: bytes = _PREFIX
) -> bool:
    """Return whether the account (20 bytes) signed a message, or one of the 32-byte `digests`; `signature` is hexadecimal."""
    signed = from_hex(signature)
    if len(signed) != _RECOVERABLE_BYTES:
        return False
    personal = personal_digest(message, prefix=prefix)
    return any(signer_of(digest, signed) == key for digest in (personal, *digests))


def typed_digest(types: Types, domain: Mapping[str, Any], message: Mapping[str, Any]) -> bytes:
    """Return the 32 bytes that EIP-712 signs. Raises ValueError for a value that cannot be encoded.

    Only the domain's present fields count.
    """
    # Slow to import, and few processes read signatures.
    from eth_abi.exceptions import EncodingError
    from eth_account.messages import encode_typed_data

    described = {"EIP712Domain": {name: _DOMAIN[name] for name in domain}, **types}
    document = {
        "types": {
            name: [{"name": field, "type": kind} for field, kind in fields.items()]
            for name, fields in described.items()
        },
        "primaryType": next(iter(types)),
        "domain": domain,
        "message": message,
    }
    try:
        signable = encode_typed_data(full_message=document)
    except EncodingError as error:
        raise ValueError("a value does not fit its type") from error
    return keccak(b"\x19" + signable.version + signable.header + signable.body)


def personal_digest(message: bytes, *, prefix: bytes = _PREFIX) -> bytes:
    """Return the 32 bytes that a wallet signs for a personal message (EIP-191, or Tron's TIP-191 by its prefix)."""
    return keccak(prefix + str(len(message)).encode() + message)


def signer_of(digest: bytes, signature: bytes) -> bytes:
    """Return the 20 bytes of the account that signed 32 bytes; empty if no key can have made the signature.

    `signature` has 65 bytes: r, s and v, which is 0, 1, 27 or 28.
    """
    # Slow to import, and few proofs are signed.
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    if int.from_bytes(signature[32:64], "big") > _LARGEST_S:
        return b""
    parity = signature[64] - 27 if signature[64] >= 27 else signature[64]
    try:
        parsed = Signature(signature[:64] + bytes([parity & 0xFF]))
        public = parsed.recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError, ValueError):
        return b""
    address: bytes = public.to_canonical_address()
    return address


def from_hex(text: str) -> bytes:
    """Return hexadecimal text, with or without 0x, as bytes; empty if it is invalid."""
    digits = text.removeprefix("0x")
    try:
        return bytes.fromhex(digits) if digits.isascii() and digits.isalnum() else b""
    except ValueError:
        return b""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature without its wrapping (ERC-6492); `deploys`: whether the wrapping would deploy the wallet first.

    It would by a call of `factory` (lower case) with `calldata`.
    """

    inner: bytes
    deploys: bool = False
    factory: str = ""
    calldata: bytes = b""


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
    deploys = bool(int(factory, 16)) and bool(calldata)
    return Signature(inner, deploys, str(factory).lower(), calldata)


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
