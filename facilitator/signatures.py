"""Whether a payer signed for a payment, which binds a proof by hash to whoever made it. Pure.

What is signed is `message_of`: as a personal message (EIP-191) or as typed data (EIP-712) on EVM chains, as a TRON message
(TIP-191, version 2) on Tron, and as it is by Ed25519 on Solana and TON. A TON address does not tell its key: it is given too, and
must be that of a standard wallet (v3 or v4) at this address.
"""

import base64
import binascii
from typing import Final

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from facilitator.inputs import Proof, Requirements
from wallets.addresses import address_key
from wallets.chains.specs import Family
from wallets.forwarder import keccak
from wallets.networks import chain_spec

_ETHEREUM: Final = b"\x19Ethereum Signed Message:\n"
_TRON: Final = b"\x19TRON Signed Message:\n"
_DOMAIN: Final = keccak(b"EIP712Domain(string name,string version,uint256 chainId)")
_PROOF: Final = keccak(b"Proof(string transaction,string payTo,string resource)")
_NAME: Final = keccak(b"x402 payment proof")
_VERSION: Final = keccak(b"1")
_RECOVERABLE_BYTES: Final = 65
# Of the two signatures that every signature makes, EIP-2 takes the one with the lower s.
_LARGEST_S: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_TON_WALLETS: Final = ("v3r1", "v3r2", "v4r1", "v4r2")


def message_of(proof: Proof, wanted: Requirements) -> str:
    """Return what a payer signs: which transaction pays whom for what. Five lines, without one at the end."""
    return "\n".join(
        (
            "x402 payment proof",
            f"chain: {proof.chain}",
            f"transaction: {proof.tx_hash}",
            f"payTo: {proof.pay_to}",
            f"resource: {wanted.resource}",
        )
    )


def typed_digest(proof: Proof, wanted: Requirements, *, chain_id: int) -> bytes:
    """Return the 32 bytes that EIP-712 has signed for `Proof(string transaction,string payTo,string resource)`."""
    domain = keccak(_DOMAIN + _NAME + _VERSION + chain_id.to_bytes(32, "big"))
    texts = (proof.tx_hash, proof.pay_to, wanted.resource)
    struct = keccak(_PROOF + b"".join(keccak(text.encode()) for text in texts))
    return keccak(b"\x19\x01" + domain + struct)


def is_signed_by_payer(proof: Proof, wanted: Requirements) -> bool | None:
    """Say whether the payer signed; None where there is no signature to look at."""
    if not proof.signature:
        return None
    spec = chain_spec(proof.chain)
    message = message_of(proof, wanted).encode()
    match spec.family:
        case Family.EVM:
            digests = [_personal(_ETHEREUM, message)]
            if spec.chain_id is not None:
                digests.append(typed_digest(proof, wanted, chain_id=spec.chain_id))
            return _is_recovered(proof, digests, spec.family)
        case Family.TRON:
            return _is_recovered(proof, [_personal(_TRON, message)], spec.family)
        case Family.SOLANA:
            return _is_ed25519(
                address_key(proof.payer, family=spec.family), message, proof.signature
            )
        case Family.TON:
            return _is_ton(proof, message)


def _personal(prefix: bytes, message: bytes) -> bytes:
    return keccak(prefix + str(len(message)).encode() + message)


def _is_recovered(proof: Proof, digests: list[bytes], family: Family) -> bool:
    signature = _from_hex(proof.signature)
    if len(signature) != _RECOVERABLE_BYTES:
        return False
    payer = address_key(proof.payer, family=family)
    return any(_recovered(digest, signature) == payer for digest in digests)


def _recovered(digest: bytes, signature: bytes) -> bytes:
    """Return the last 20 bytes of the signer's hashed key; nothing where no key can have signed so."""
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


def _is_ton(proof: Proof, message: bytes) -> bool:
    key = _from_hex(proof.public_key)
    try:
        signature = base64.b64decode(proof.signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(key) != 32 or not _verifies(key, message, signature):
        return False
    payer = address_key(proof.payer, family=Family.TON)
    return payer in {_ton_wallet(key, version) for version in _TON_WALLETS}


def _ton_wallet(key: bytes, version: str) -> bytes:
    """Return where the standard wallet of a key is, as `address_key` writes it, in the basic workchain."""
    from tonsdk.contract.wallet import Wallets, WalletVersionEnum

    kind = Wallets.ALL[WalletVersionEnum(version)]
    # Without a private one it only computes.
    wallet = kind(public_key=key, private_key=b"", wc=0)
    address: bytes = bytes(wallet.address.hash_part)
    return b"\0" + address


def _from_hex(text: str) -> bytes:
    digits = text.removeprefix("0x")
    try:
        return bytes.fromhex(digits) if digits.isascii() and digits.isalnum() else b""
    except ValueError:
        return b""
