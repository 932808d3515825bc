"""Buyers with a wallet, and what they ask of a checkout."""

import base64
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

# The token program's instruction.
TRANSFER_CHECKED = 12


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


def with_twice_the_units(transaction: str) -> str:
    """A transaction on Solana in base64, as a wallet has it that doubles what is paid: its last instruction, and that ends it."""
    raw = base64.b64decode(transaction)
    # A byte that says what to do, the units, the decimals.
    assert raw[-10] == TRANSFER_CHECKED
    units = int.from_bytes(raw[-9:-1], "little")
    return base64.b64encode(raw[:-9] + (2 * units).to_bytes(8, "little") + raw[-1:]).decode()


def with_twice_the_amount(transaction: dict[str, Any]) -> dict[str, Any]:
    """A transaction on Tron in tronWeb's form, as a wallet has it that doubles what is paid."""
    [contract] = transaction["raw_data"]["contract"]
    data = contract["parameter"]["value"]["data"]
    doubled = f"{data[:-64]}{2 * int(data[-64:], 16):064x}"
    raw = transaction["raw_data_hex"].replace(data, doubled)
    return transaction | {"raw_data_hex": raw, "txID": hashlib.sha256(bytes.fromhex(raw)).hexdigest()}


def prepared_on_tron(client: Client, checkout: Checkout, node: TronNode) -> Any:
    return ask(client, checkout, chain="tron", account=node.payer_address).json()
