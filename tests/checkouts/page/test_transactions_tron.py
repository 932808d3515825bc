"""Tickets and signatures of transactions on Tron."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from demo.localnet.tokens import balance_of
from demo.localnet.tron import USDT, TronNode
from demo.localnet.tron.addresses import to_hex
from demo.localnet.tron.transactions import fields_of
from tests.checkouts.factories import move
from tests.checkouts.page.buyers import ask, chosen, error_of, prepared_on_tron, sign
from tests.checkouts.shop import Shop

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("signature", ["", "00", "zz" * 65, "ab" * 66, None, ["ab"]])
def test_what_is_no_signature_is_refused(signature: Any, client: Client, tron_shop: Shop, tron_node: TronNode) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(client, checkout, action="signed", ticket=ticket, signature=signature)
    assert error_of(answer, 400)[1] == "signature"


def test_anothers_signature_is_refused_and_nothing_is_paid(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(client, checkout, action="signed", ticket=ticket, signature="11" * 64 + "00")
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
        answer = ask(client, target, action="signed", ticket=ticket, signature=signature)
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


def test_the_bytes_that_tron_signs_are_of_the_call_that_is_shown(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    body = prepared_on_tron(client, chosen(tron_shop), tron_node)
    raw = fields_of(bytes.fromhex(body["transaction"]["raw_data_hex"]))
    value = fields_of(fields_of(fields_of(raw[11])[2])[2])
    assert value[2][1:] == bytes.fromhex(to_hex(USDT)[2:])
    assert value[4][16:36] == bytes.fromhex(to_hex(tron_shop.address)[2:])
