"""What TronLink is given to sign over HTTP, and what becomes of the signature."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from eth_keys.datatypes import PrivateKey

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from demo.localnet.funding import payer
from demo.localnet.tokens import balance_of
from demo.localnet.tron import (
    USDT,
    TronNode,
)
from demo.localnet.tron.addresses import (
    to_base58,
    to_hex,
)
from demo.localnet.tron.transactions import fields_of
from tests.checkouts.factories import move
from tests.checkouts.page.test_wallet_views import (
    ask,
    chosen,
    error_of,
)
from tests.checkouts.shop import Shop, count_anew

pytestmark = pytest.mark.django_db


@pytest.fixture
def tron_shop(tron_node: TronNode, settings: Any) -> Iterator[Shop]:
    count_anew(settings)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "TRON_RPC_URLS": tron_node.url,
        "TRON_GRID_URLS": tron_node.grid_url,
    }
    opened = Shop("tron", to_base58(tron_node.anvil.accounts[6].address))
    yield opened
    opened.watcher.close()


def sign(transaction: dict[str, Any], node: TronNode) -> str:
    """What a wallet with the payer's key makes of a transaction."""
    raw = bytes.fromhex(transaction["raw_data_hex"])
    key = PrivateKey(bytes.fromhex(payer(node.anvil).key.removeprefix("0x")))
    signature: str = key.sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes().hex()
    return signature


def prepared_on_tron(client: Client, checkout: Checkout, node: TronNode) -> Any:
    return ask(client, checkout, chain="tron", account=node.payer_address).json()


def test_what_was_signed_is_sent_and_pays_once_however_often_it_is_posted(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    held = AmountReservation.objects.get()
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    for _ in range(2):
        answer = ask(
            client,
            checkout,
            action="signed",
            ticket=body["ticket"],
            signature=signature,
        )
        assert answer.status_code == 200
    merchant = to_hex(tron_shop.address)
    got = balance_of(tron_node.anvil, to_hex(USDT), merchant)
    assert got == 25_000_000 + held.suffix


def test_a_transaction_is_good_for_five_minutes_and_not_past_the_checkout(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    soon = timezone.now() + timedelta(minutes=2)
    first = prepared_on_tron(client, checkout, tron_node)["transaction"]["raw_data"]
    Checkout.objects.update(expires_at=soon)
    second = prepared_on_tron(client, checkout, tron_node)["transaction"]["raw_data"]
    assert first["expiration"] - first["timestamp"] == 300_000
    assert second["expiration"] == int(soon.timestamp() * 1000)
    assert second["fee_limit"] == 100_000_000


def test_an_account_that_holds_less_is_told_so(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    poor = to_base58(tron_node.anvil.accounts[7].address)
    answer = ask(client, chosen(tron_shop), chain="tron", account=poor)
    assert error_of(answer, 409) == ("funds_insufficient", None)


@pytest.mark.parametrize("signature", ["", "00", "zz" * 65, "ab" * 66, None, ["ab"]])
def test_what_is_no_signature_is_refused(
    signature: Any, client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(client, checkout, action="signed", ticket=ticket, signature=signature)
    assert error_of(answer, 400)[1] == "signature"


def test_anothers_signature_is_refused_and_nothing_is_paid(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(
        client, checkout, action="signed", ticket=ticket, signature="11" * 64 + "00"
    )
    assert error_of(answer, 409)[0] == "transaction_refused"
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


def test_a_ticket_serves_its_own_checkout_alone_and_must_be_ours(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout, other = chosen(tron_shop), chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    forged = body["ticket"][:-1] + ("A" if body["ticket"][-1] != "A" else "B")
    for target, ticket in ((other, body["ticket"]), (checkout, forged)):
        answer = ask(
            client, target, action="signed", ticket=ticket, signature=signature
        )
        assert error_of(answer, 400)[1] == "ticket"
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


def test_nothing_is_sent_once_the_checkout_is_paid_or_something_else_is_due(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    posted = {"action": "signed", "ticket": body["ticket"], "signature": signature}
    AmountReservation.objects.update(suffix=AmountReservation.objects.get().suffix + 1)
    assert error_of(ask(client, checkout, **posted), 409)[0] == "state_conflict"
    move(checkout, CheckoutStatus.PROCESSING)
    assert error_of(ask(client, checkout, **posted), 409)[0] == "state_conflict"
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("BANDWITH_ERROR", 409, "transaction_refused"),
        ("SERVER_BUSY", 503, "chain_unavailable"),
        ("DUP_TRANSACTION_ERROR", 200, ""),
    ],
)
def test_what_tron_says_to_a_transaction_is_passed_on(
    code: str,
    status: int,
    told: str,
    client: Client,
    tron_shop: Shop,
    tron_node: TronNode,
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    tron_node.rules.broadcast_code = code
    answer = ask(
        client,
        checkout,
        action="signed",
        ticket=body["ticket"],
        signature=sign(body["transaction"], tron_node),
    )
    assert answer.status_code == status
    assert not told or error_of(answer, status)[0] == told


def test_the_bytes_that_tron_signs_are_of_the_call_that_is_shown(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    body = prepared_on_tron(client, chosen(tron_shop), tron_node)
    raw = fields_of(bytes.fromhex(body["transaction"]["raw_data_hex"]))
    value = fields_of(fields_of(fields_of(raw[11])[2])[2])
    assert value[2][1:] == bytes.fromhex(to_hex(USDT)[2:])
    assert value[4][16:36] == bytes.fromhex(to_hex(tron_shop.address)[2:])
