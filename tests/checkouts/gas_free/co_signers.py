"""Buyers on a local Solana with USDC and no SOL, who sign what the page offers, and the account that pays their fee."""

import base64
from typing import Any

import base58
from django.test import Client
from solders.keypair import Keypair
from solders.transaction import Transaction

from checkouts.models import Checkout
from localnet.solana.node import SolanaNode
from tests.checkouts.page.buyers import ask

OURS = Keypair.from_seed(b"an account that pays the network")
FUNDS = 100_000_000


def pay_fees(node: SolanaNode, settings: Any, merchants_wallet: str) -> None:
    """Let the operator pay buyers' fees. The merchant's wallet received the token before, so that it has an account for it."""
    settings.GAS_KEYS_SOLANA = [base58.b58encode(bytes(OURS)).decode()]
    node.airdrop(str(OURS.pubkey()))
    node.fund(merchants_wallet, 1)


def new_buyer(node: SolanaNode, units: int = FUNDS) -> Keypair:
    """A buyer with USDC and no SOL."""
    made = Keypair()
    node.fund(str(made.pubkey()), units)
    return made


def offered(client: Client, checkout: Checkout, buyer: Keypair) -> Any:
    """The answer to the question what to sign."""
    return ask(client, checkout, account=str(buyer.pubkey()), free=True)


def signature_of(offer: dict[str, Any], buyer: Keypair) -> str:
    """What a wallet signs of what was offered, in hexadecimal."""
    message = Transaction.from_bytes(base64.b64decode(offer["transaction"])).message
    return bytes(buyer.sign_message(bytes(message))).hex()


def signed(client: Client, checkout: Checkout, offer: dict[str, Any], buyer: Keypair) -> Any:
    """Sign what was offered as a wallet does, and give back the signature."""
    return ask(client, checkout, action="signed", ticket=offer["ticket"], signature=signature_of(offer, buyer))
