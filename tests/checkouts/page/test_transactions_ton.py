"""What a buyer's wallet of TON Connect is asked to send: the exact amount with the comment, to the recorded wallet."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from tonsdk.utils import Address

from checkouts.models import AmountReservation, Checkout, Payment
from localnet.ton.node import TonNode
from tests.checkouts.page.buyers import ask, chosen, error_of
from tests.checkouts.shop import Shop
from tests.wallets.tonconnect import carry_out

pytestmark = pytest.mark.django_db


def raw(address: str) -> str:
    """An address as wallets of TON Connect tell it."""
    text: str = Address(address).to_string(is_user_friendly=False)
    return text


def prepared(client: Client, checkout: Checkout, node: TonNode) -> Any:
    return ask(client, checkout, chain="ton", account=raw(node.payer.address)).json()


def test_what_the_wallet_sends_is_credited_to_the_checkout(client: Client, ton_shop: Shop, ton_node: TonNode) -> None:
    checkout = chosen(ton_shop)
    held = AmountReservation.objects.get()
    body = prepared(client, checkout, ton_node)
    assert set(body) == {"transaction"}
    carry_out(ton_node, body["transaction"])
    assert ton_node.balance(ton_shop.address) == 25_000_000 + held.suffix
    ton_shop.watch()
    assert Payment.objects.get().checkout_id == checkout.pk


def test_the_comment_goes_with_it_and_it_ends_with_the_checkout(
    client: Client, ton_shop: Shop, ton_node: TonNode
) -> None:
    checkout = chosen(ton_shop)
    held = AmountReservation.objects.get()
    soon = timezone.now() + timedelta(minutes=2)
    Checkout.objects.update(expires_at=soon)
    transaction = prepared(client, checkout, ton_node)["transaction"]
    [message] = transaction["messages"]
    assert held.memo.encode() in base64.b64decode(message["payload"])
    assert transaction["valid_until"] == int(soon.timestamp())
    assert transaction["from"] == raw(ton_node.payer.address)


def test_an_account_without_the_money_is_told_so(client: Client, ton_shop: Shop, ton_node: TonNode) -> None:
    account = raw(ton_node.create_wallet().address)
    answer = ask(client, chosen(ton_shop), chain="ton", account=account)
    assert error_of(answer, 409) == ("funds_insufficient", None)


@pytest.mark.parametrize("account", ["", "nonsense", "0:12", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", None])
def test_what_is_no_wallet_is_refused(account: Any, client: Client, ton_shop: Shop) -> None:
    answer = ask(client, chosen(ton_shop), chain="ton", account=account)
    assert error_of(answer, 400)[1] == "account"


def test_nothing_is_signed_for_us_to_send(client: Client, ton_shop: Shop, ton_node: TonNode) -> None:
    checkout = chosen(ton_shop)
    answer = ask(client, checkout, action="signed", ticket=json.dumps({"chain": "ton"}), signature="ab" * 65)
    assert error_of(answer, 400)[1] == "ticket"
