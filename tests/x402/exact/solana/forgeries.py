"""What nobody honest signs: transactions of payers who mean to take something."""

import secrets
from hashlib import sha512
from typing import Any, Final

from nacl.bindings import (
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_base_noclamp,
)
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from localnet.solana.programs import SYSTEM
from tests.x402.exact.solana.payers import Draft

OURS: Final = Keypair()
PAYER: Final = Keypair()
SHOP: Final = Keypair()


def draft(**changes: Any) -> Draft:
    """A transfer on no chain in particular."""
    values: dict[str, Any] = {
        "payer": PAYER,
        "fee_payer": str(OURS.pubkey()),
        "recipient": str(SHOP.pubkey()),
        "blockhash": str(Keypair().pubkey()),
    }
    return Draft(**(values | changes))


def changed(step: Instruction, **changes: Any) -> Instruction:
    """An instruction with another program, other accounts or other data."""
    values: dict[str, Any] = {"program_id": step.program_id, "data": bytes(step.data), "accounts": list(step.accounts)}
    return Instruction(**(values | changes))


def take_lamports(owner: Pubkey, to: Pubkey) -> Instruction:
    """The system program's transfer."""
    data = (2).to_bytes(4, "little") + (10**9).to_bytes(8, "little")
    accounts = [AccountMeta(owner, True, True), AccountMeta(to, False, True)]
    return Instruction(SYSTEM, data, accounts)


def sealed(message: MessageV0, *signatures: Signature, first: Signature | None = None) -> bytes:
    """A transaction with these signatures after the place of ours."""
    own = first or Signature.default()
    return bytes(VersionedTransaction.populate(message, [own, *signatures]))


def signed_again(payer: Keypair, message: MessageV0) -> Signature:
    """Another signature of the payer's that is as good, by another secret number (RFC 8032, 5.1.6, step 2)."""
    text, digest = to_bytes_versioned(message), sha512(payer.secret()).digest()
    key = bytearray(digest[:32])
    key[0], key[31] = key[0] & 248, key[31] & 127 | 64
    number = crypto_core_ed25519_scalar_reduce(secrets.token_bytes(64))
    point = crypto_scalarmult_ed25519_base_noclamp(number)
    challenge = sha512(point + bytes(payer.pubkey()) + text).digest()
    product = crypto_core_ed25519_scalar_mul(
        crypto_core_ed25519_scalar_reduce(challenge), crypto_core_ed25519_scalar_reduce(bytes(key) + bytes(32))
    )
    return Signature(point + crypto_core_ed25519_scalar_add(number, product))
