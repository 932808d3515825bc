"""A line of a report as the API shows it."""

import re

import pytest

from tests.contract.client import ApiClient
from tests.reports.answers import LINES, listed
from tests.reports.takings import earn, receive

pytestmark = pytest.mark.django_db


def test_a_line_tells_the_transfer_and_the_checkout_it_paid(shop: ApiClient) -> None:
    transfer = earn(shop.merchant, 24_999_999, order_ref="HR-1")
    [row] = shop.get(LINES).body["data"]
    assert row == {
        "id": transfer.public_id,
        "direction": "in",
        "chain": "base",
        "token": "USDC",
        "amount": "24.999999",
        "tx_hash": transfer.tx_hash,
        "position": 0,
        "sender_address": transfer.sender,
        "recipient_address": transfer.recipient,
        "status": "confirmed",
        "block_time": "2026-11-20T12:01:00.000000Z",
        "detected_at": "2026-11-20T12:01:00.000000Z",
        "confirmed_at": "2026-11-20T12:00:00.000000Z",
        "checkout_id": transfer.payment.checkout.public_id,
        "order_ref": "HR-1",
        "wallet_id": None,
        "kind": "checkout",
        "x402_payment_id": None,
        "resource": None,
        "fee": None,
        "usd_value": "24.999999",
        "explorer_url": f"https://basescan.org/tx/{transfer.tx_hash}",
    }


def test_a_transfers_id_tells_nothing_of_how_many_there_are(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row_id] = listed(shop)
    assert re.fullmatch(r"trf_[0-9a-f]{32}", row_id)


def test_what_paid_nothing_names_no_checkout(shop: ApiClient) -> None:
    receive(shop.merchant)
    [row] = shop.get(LINES).body["data"]
    assert (row["checkout_id"], row["order_ref"]) == (None, None)
