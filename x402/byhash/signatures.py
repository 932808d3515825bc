"""Verifies a payer's signature over a payment, which binds a proof by hash to the payer. Pure.

Signed is `message_of`, or typed data on EVM chains; each family of chains implements it (`wallets.chains`, `proofs`).
"""

from typing import Final

from wallets.chains.evm.proofs import Types, typed_digest
from wallets.networks import chain_spec
from x402.inputs import Proof, Requirements

_NAME: Final = "x402 payment proof"
_TYPES: Final[Types] = {"Proof": {"transaction": "string", "payTo": "string", "resource": "string"}}


def message_of(proof: Proof, wanted: Requirements) -> str:
    """Return the message that a payer signs: transaction, recipient and resource. Five lines, no newline at the end."""
    return "\n".join(
        (
            _NAME,
            f"chain: {proof.chain}",
            f"transaction: {proof.tx_hash}",
            f"payTo: {proof.pay_to}",
            f"resource: {wanted.resource}",
        )
    )


def proof_digest(proof: Proof, wanted: Requirements, *, chain_id: int) -> bytes:
    """Return the 32 bytes that EIP-712 signs for `Proof(string transaction,string payTo,string resource)`."""
    return typed_digest(
        _TYPES,
        {"name": _NAME, "version": "1", "chainId": chain_id},
        {"transaction": proof.tx_hash, "payTo": proof.pay_to, "resource": wanted.resource},
    )


def is_signed_by_payer(proof: Proof, wanted: Requirements) -> bool | None:
    """Return whether the payer signed; None without a signature."""
    if not proof.signature:
        return None
    spec = chain_spec(proof.chain)
    digests = []
    if spec.family.signs_typed_data and spec.chain_id is not None:
        digests.append(proof_digest(proof, wanted, chain_id=spec.chain_id))
    return spec.family.is_signed_by(
        proof.payer, message_of(proof, wanted).encode(), proof.signature, public_key=proof.public_key, digests=digests
    )
