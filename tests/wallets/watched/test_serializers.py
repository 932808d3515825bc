"""Watched wallets and movements as the API shows them."""

from datetime import timedelta

import pytest

from tests.contract.client import ApiClient
from tests.factories import WALLET
from tests.wallets.days import make_movement
from tests.wallets.watched.test_api import PATH, added
from tests.wallets.watched_wallets import finish, hold, import_through, watch
from wallets.models import WatchedWallet
from wallets.states import Direction

pytestmark = pytest.mark.django_db


def test_a_new_wallet_is_answered_as_the_contract_names_it(shop: ApiClient) -> None:
    body = added(shop, address=WALLET.lower(), label=" Payroll ", tags=["eu", "EU"])
    created_at = WatchedWallet.objects.get().created_at
    since = created_at - timedelta(days=30)
    assert body == {
        "id": body["id"],
        "chain": "base",
        "address": WALLET,
        "label": "Payroll",
        "tags": ["eu"],
        "status": "importing",
        "balances": {"USDC": None, "USDT": None},
        "history": {"progress": 0, "since": f"{since:%Y-%m-%dT%H:%M:%S.%f}Z", "error": None},
        "livemode": True,
        "created_at": f"{created_at:%Y-%m-%dT%H:%M:%S.%f}Z",
    }
    assert body["id"].startswith("wal_")
    assert shop.get(f"{PATH}/{body['id']}").body == body


def test_balances_and_progress_are_told(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet = watch(shop.merchant, chain="polygon")
    hold(wallet, 1_250_500_000)
    hold(wallet, 0, token="USDT")
    import_through(wallet, 41)
    body = shop.get(f"{PATH}/{wallet.public_id}").body
    assert body["balances"] == {"USDC": "1250.500000", "USDT": "0.000000"}
    assert (body["status"], body["history"]["progress"]) == ("importing", 41)
    finish(wallet)
    body = shop.get(f"{PATH}/{wallet.public_id}").body
    assert (body["status"], body["history"]["progress"]) == ("active", 100)


def test_a_movement_is_told_as_the_contract_names_it(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet = watch(shop.merchant)
    movement = make_movement(wallet, 24_999_999, direction=Direction.OUT)
    answer = shop.get(f"{PATH}/{wallet.public_id}/transactions")
    assert answer.body == {
        "data": [
            {
                "id": movement.public_id,
                "direction": "out",
                "chain": "base",
                "token": "USDC",
                "amount": "24.999999",
                "tx_hash": movement.tx_hash,
                "position": 0,
                "counterparty_address": movement.counterparty,
                "status": "confirmed",
                "block_time": "2026-11-20T12:01:00.000000Z",
                "confirmed_at": "2026-11-20T12:00:00.000000Z",
            }
        ],
        "total": 1,
        "limit": 20,
        "offset": 0,
    }
