"""Buyers with a wallet, and what they ask of a checkout."""

import hashlib
from typing import Any

from django.test import Client
from django.utils import timezone
from eth_keys.datatypes import PrivateKey
from solders.keypair import Keypair

from checkouts.models import Checkout
from checkouts.reservations import choose_exact_amount
from localnet.funding import payer
from localnet.tron import TronNode
from tests.checkouts.shop import Shop

BUYER = Keypair.from_seed(b"a buyer with a wallet of his own")

ACCOUNT = str(BUYER.pubkey())


def chosen(shop: Shop) -> Checkout:
    """A checkout of the shop with its exact amount."""
    checkout = shop.checkout()
    choose_exact_amount(checkout.pk, now=timezone.now())
    return checkout


def ask(
    client: Client,
    checkout: Checkout,
    *,
    action: str = "transaction",
    headers: dict[str, str] | None = None,
    **body: Any,
) -> Any:
    question = {"chain": "solana", "account": ACCOUNT} | body
    return client.post(f"/c/{checkout.code}/{action}", question, content_type="application/json", headers=headers or {})


def error_of(answer: Any, status: int) -> tuple[str, str | None]:
    """The code and the parameter of an error with this status."""
    assert answer.status_code == status, answer.content
    error = answer.json()["error"]
    return error["code"], error["param"]


def sign(transaction: dict[str, Any], node: TronNode) -> str:
    """What a wallet with the payer's key makes of a transaction."""
    raw = bytes.fromhex(transaction["raw_data_hex"])
    key = PrivateKey(bytes.fromhex(payer(node.anvil).key.removeprefix("0x")))
    signature: str = key.sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes().hex()
    return signature


def prepared_on_tron(client: Client, checkout: Checkout, node: TronNode) -> Any:
    return ask(client, checkout, chain="tron", account=node.payer_address).json()
