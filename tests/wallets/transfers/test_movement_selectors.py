"""Movements of a watched wallet: narrowed, paged, newest block first."""

from datetime import timedelta
from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.wallets.days import make_movement
from tests.wallets.watched.test_api import PATH, listed
from tests.wallets.watched_wallets import watch
from wallets.states import Direction, TransferState

pytestmark = pytest.mark.django_db


def test_movements_are_narrowed_and_paged_newest_block_first(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet, other = watch(shop.merchant), watch(shop.merchant)
    make_movement(other)
    day = timedelta(days=1)
    oldest = make_movement(wallet, block_time=NOON - day, token="USDT")
    newest = make_movement(wallet, block_time=NOON + day, direction=Direction.OUT)
    # Of one block: only their keys tell them apart.
    tied = [make_movement(wallet) for _ in range(3)]
    lost = make_movement(wallet, state=TransferState.ORPHANED)
    path = f"{PATH}/{wallet.public_id}/transactions"
    rows = [newest, lost, *reversed(tied), oldest]
    ids = [row.public_id for row in rows]
    assert listed(shop, path) == ids
    assert listed(shop, path, direction="out") == ids[:1]
    assert listed(shop, path, token="USDT") == ids[-1:]
    assert listed(shop, path, since="2026-11-20", to="2026-11-21") == ids[1:-1]
    for narrowed, total in (({}, 6), ({"direction": "in"}, 5), ({"token": "USDT"}, 1), ({"to": "2026-11-21"}, 5)):
        assert shop.get(path, narrowed).body["total"] == total
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := listed(shop, path, **query):
        found += page
        query["starting_after"] = page[-1]
    assert found == ids
