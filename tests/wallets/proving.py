"""Owners who are asked for a proof of a wallet, and hand in a signature."""

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from tests.factories import NOON
from tests.wallets.signing import Signer
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.changes import request_wallet
from wallets.receiving.proofs import message_of, prove_wallet, start_proof

ETHEREUM = Signer("ethereum")


def owner_of(merchant: Merchant) -> User:
    return merchant.memberships.get().user


def ask(merchant: Merchant, signer: Signer = ETHEREUM) -> ReceivingWallet | WalletChange:
    return request_wallet(
        merchant, chain=signer.chain, address=signer.address, actor=Actor(owner_of(merchant)), now=NOON
    )


def start(merchant: Merchant, signer: Signer = ETHEREUM) -> WalletProof:
    return start_proof(merchant, chain=signer.chain, address=signer.address, actor=Actor(owner_of(merchant)), now=NOON)


def prove(proof: WalletProof, signer: Signer = ETHEREUM, **changes: object) -> ReceivingWallet | WalletChange:
    """Sign a message and hand it in; `changes` say otherwise."""
    sent = {
        "signature": signer.sign(message_of(proof)),
        "public_key": signer.public_key,
        "actor": Actor(owner_of(proof.merchant)),
        "now": NOON,
    } | changes
    return prove_wallet(proof, **sent)  # type: ignore[arg-type]
