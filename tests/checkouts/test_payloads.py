"""A checkout as the API and webhooks show it: its payment, its transfers, its sums."""

from datetime import datetime

import pytest

from checkouts.states import CheckoutStatus
from tests.contract.client import ApiClient
from tests.contract.payments import BRING_TO, expire, pay
from tests.contract.reading import read
from wallets.models import ChainCursor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.parametrize("status", CheckoutStatus)
def test_payment_is_null_exactly_while_pending_or_expired(seller: ApiClient, status: CheckoutStatus) -> None:
    checkout_id = seller.created()["id"]
    BRING_TO[status](checkout_id)
    body = read(seller, checkout_id)
    assert body["status"] == status
    assert (body["payment"] is None) is (status in {"pending", "expired"})


def test_a_part_paid_checkout_that_expires_shows_no_payment_and_keeps_its_transfer(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 50)
    expire(checkout_id)
    body = read(seller, checkout_id)
    assert (body["status"], body["payment"]) == ("expired", None)
    assert [transfer["amount"] for transfer in body["transfers"]] == ["12.500000"]
    assert body["amount_received"] == "12.500000"


def test_a_completed_checkout_shows_its_payment(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    transfer = pay(checkout_id)
    body = read(seller, checkout_id)
    assert body["payment"] == {
        "amount_crypto": "25.000000",
        "crypto_currency": "USDC",
        "network": "base",
        "tx_hash": transfer.tx_hash,
        "sender_address": transfer.sender,
        "confirmed_at": body["transfers"][0]["confirmed_at"],
    }
    assert datetime.fromisoformat(body["payment"]["confirmed_at"]).tzinfo is not None
    assert body["paid_at"] is not None
    assert (body["amount_received"], body["amount_remaining"]) == ("25.000000", "0.000000")


def test_a_payment_that_is_not_final_has_no_confirmation_time(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, final=False)
    ChainCursor.objects.filter(chain="base").update(head=104)
    body = read(seller, checkout_id)
    assert body["payment"]["confirmed_at"] is None
    [transfer] = body["transfers"]
    assert set(transfer) == {
        "chain",
        "token",
        "amount",
        "tx_hash",
        "position",
        "sender_address",
        "confirmations",
        "required_confirmations",
        "status",
        "in_doubt",
        "detected_at",
        "confirmed_at",
    }
    assert transfer["status"] == "detected"
    assert (transfer["confirmations"], transfer["required_confirmations"]) == (5, 12)


def test_several_transfers_add_up_and_the_completing_one_is_shown(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, 40)
    short = read(seller, checkout_id)
    assert (short["status"], short["exception"]) == ("underpaid", "underpaid")
    assert short["amount_remaining"] == "15.000000"
    last = pay(checkout_id, 60, chain="polygon", token="USDT")
    body = read(seller, checkout_id)
    assert (body["status"], body["exception"]) == ("completed", None)
    assert body["payment"]["amount_crypto"] == "25.000000"
    assert body["payment"]["network"] == "polygon"
    assert body["payment"]["crypto_currency"] == "USDT"
    assert body["payment"]["tx_hash"] == last.tx_hash
    assert len(body["transfers"]) == 2
