"""Transactions of TronLink over HTTP: signed, sent, and refused."""

import pytest
from django.test import Client

from checkouts.models import AmountReservation
from demo.localnet.tokens import balance_of
from demo.localnet.tron import USDT, TronNode
from demo.localnet.tron.addresses import to_base58, to_hex
from tests.checkouts.page.buyers import ask, chosen, error_of, prepared_on_tron, sign
from tests.checkouts.shop import Shop

pytestmark = pytest.mark.django_db


def test_what_was_signed_is_sent_and_pays_once_however_often_it_is_posted(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    held = AmountReservation.objects.get()
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    for _ in range(2):
        answer = ask(client, checkout, action="signed", ticket=body["ticket"], signature=signature)
        assert answer.status_code == 200
    merchant = to_hex(tron_shop.address)
    got = balance_of(tron_node.anvil, to_hex(USDT), merchant)
    assert got == 25_000_000 + held.suffix


def test_an_account_that_holds_less_is_told_so(client: Client, tron_shop: Shop, tron_node: TronNode) -> None:
    poor = to_base58(tron_node.anvil.accounts[7].address)
    answer = ask(client, chosen(tron_shop), chain="tron", account=poor)
    assert error_of(answer, 409) == ("funds_insufficient", None)


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("BANDWITH_ERROR", 409, "transaction_refused"),
        ("SERVER_BUSY", 503, "chain_unavailable"),
        ("DUP_TRANSACTION_ERROR", 200, ""),
    ],
)
def test_what_tron_says_to_a_transaction_is_passed_on(
    code: str, status: int, told: str, client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    tron_node.rules.broadcast_code = code
    answer = ask(
        client, checkout, action="signed", ticket=body["ticket"], signature=sign(body["transaction"], tron_node)
    )
    assert answer.status_code == status
    assert not told or error_of(answer, status)[0] == told
