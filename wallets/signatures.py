"""Whether a wallet's key signed a message. Pure.

On EVM chains a personal message (EIP-191) or a digest of typed data (EIP-712), on Tron a TRON message (TIP-191, version 2), on
Solana and TON the message itself by Ed25519. A TON address does not tell its key: it is given too, and must be that of a
standard wallet (v3, v4 or v5) at this address.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from wallets.addresses import address_key
from wallets.chains.specs import Family
from wallets.chains.ton.wallets import standard_wallets
from wallets.forwarders.addresses import keccak

Types: TypeAlias = Mapping[str, Mapping[str, str]]
"""The fields of each struct of EIP-712 with their types; the first struct is the one that is signed."""

_DOMAIN: Final = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
}
_ETHEREUM: Final = b"\x19Ethereum Signed Message:\n"
_TRON: Final = b"\x19TRON Signed Message:\n"
_RECOVERABLE_BYTES: Final = 65
# Of the two signatures that every signature makes, EIP-2 takes the one with the lower s.
_LARGEST_S: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def is_signed_by(
    address: str,
    message: bytes,
    signature: str,
    *,
    family: Family,
    public_key: str = "",
    digests: Sequence[bytes] = (),
) -> bool:
    """Whether the key of `address`, in canonical form, signed `message`, or on EVM chains one of the 32-byte `digests`.

    `signature` is hostile text: hexadecimal on EVM chains and Tron, base58 on Solana, base64 on TON, where `public_key` is
    32 bytes in hexadecimal.
    """
    key = address_key(address, family=family)
    match family:
        case Family.EVM:
            return _is_recovered(key, [personal_digest(message), *digests], signature)
        case Family.TRON:
            return _is_recovered(key, [_personal(_TRON, message)], signature)
        case Family.SOLANA:
            return _is_ed25519(key, message, signature)
        case Family.TON:
            return _is_ton(key, message, signature, _from_hex(public_key))


def typed_digest(
    types: Types, domain: Mapping[str, Any], message: Mapping[str, Any]
) -> bytes:
    """Return the 32 bytes that EIP-712 has signed. Raises ValueError where a value cannot be written.

    Of the domain's fields those count that are there.
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


def personal_digest(message: bytes) -> bytes:
    """Return the 32 bytes that a wallet on an EVM chain signs for a personal message (EIP-191)."""
    return _personal(_ETHEREUM, message)


def signer_of(digest: bytes, signature: bytes) -> bytes:
    """Return the 20 bytes of the account whose key signed 32 bytes; nothing where no key can have signed so.

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


def _personal(prefix: bytes, message: bytes) -> bytes:
    return keccak(prefix + str(len(message)).encode() + message)


def _is_recovered(key: bytes, digests: list[bytes], text: str) -> bool:
    signature = _from_hex(text)
    if len(signature) != _RECOVERABLE_BYTES:
        return False
    return any(signer_of(digest, signature) == key for digest in digests)


def _is_ed25519(key: bytes, message: bytes, signature: str) -> bool:
    try:
        signed = base58.b58decode(signature)
    except ValueError:
        return False
    return _verifies(key, message, signed)


def _verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _is_ton(wallet: bytes, message: bytes, text: str, key: bytes) -> bool:
    try:
        signature = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(key) != 32 or not _verifies(key, message, signature):
        return False
    return wallet in standard_wallets(key)


def _from_hex(text: str) -> bytes:
    digits = text.removeprefix("0x")
    try:
        return bytes.fromhex(digits) if digits.isascii() and digits.isalnum() else b""
    except ValueError:
        return b""
