"""Verifies signatures on EVM chains: of personal messages (EIP-191) and typed data (EIP-712). Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from wallets.forwarders.addresses import keccak

Types: TypeAlias = Mapping[str, Mapping[str, str]]
"""The fields of each EIP-712 struct with their types; the first struct is the signed one."""

_DOMAIN: Final = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
_PREFIX: Final = b"\x19Ethereum Signed Message:\n"
_RECOVERABLE_BYTES: Final = 65
# Each signature has a second valid form; EIP-2 accepts the one with the lower s.
_LARGEST_S: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


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
