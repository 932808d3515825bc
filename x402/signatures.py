"""Whether a payer signed for a payment, which binds a proof by hash to whoever made it. Pure.

What is signed is `message_of`, or typed data on EVM chains; `wallets.signatures` says how each family of chains signs it.
"""

from typing import Final

from wallets.chains.specs import Family
from wallets.forwarder import keccak
from wallets.networks import chain_spec
from wallets.signatures import is_signed_by
from x402.inputs import Proof, Requirements

_DOMAIN: Final = keccak(b"EIP712Domain(string name,string version,uint256 chainId)")
_PROOF: Final = keccak(b"Proof(string transaction,string payTo,string resource)")
_NAME: Final = keccak(b"x402 payment proof")
_VERSION: Final = keccak(b"1")


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
    digests = []
    if spec.family is Family.EVM and spec.chain_id is not None:
        digests.append(typed_digest(proof, wanted, chain_id=spec.chain_id))
    return is_signed_by(
        proof.payer,
        message_of(proof, wanted).encode(),
        proof.signature,
        family=spec.family,
        public_key=proof.public_key,
        digests=digests,
    )
