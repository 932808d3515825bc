"""Days that are summed up already."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from reports import totals
from tests.contract.client import ApiClient
from tests.factories import NOON, make_checkout, make_transfer
from tests.wallets.days import make_movement, make_watched
from wallets.models import WatchedWallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]


def watch(shop: ApiClient, *tags: str, **facts: Any) -> WatchedWallet:
    """A watched wallet of the shop."""
    assert shop.merchant is not None
    return make_watched(shop.merchant, tags=list(tags), **facts)


def listed(shop: ApiClient, **query: Any) -> Any:
    """The ids of a list."""
    answer = shop.get("/reports/transactions", query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["data"]]


@pytest.mark.parametrize("query", [{}, {"tag": "till"}, {"to": "2026-11-20T12:30:00"}])
def test_a_deep_page_passes_over_days_and_has_the_rows_it_had_without(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    wallet, chance = watch(shop, "till"), Random(2)
    assert shop.merchant is not None
    checkout = make_checkout(shop.merchant)
    for _ in range(30):
        moment = NOON + timedelta(hours=chance.randrange(-60, 6))
        make_transfer(checkout, block_time=moment)
        make_movement(wallet, block_time=moment, is_payment=chance.random() < 0.3)
    everything = listed(shop, limit=100, **query)
    monkeypatch.setattr(totals, "_FEW", 1)
    for offset in range(0, len(everything) + 2, 3):
        page = listed(shop, limit=5, offset=offset, **query)
        assert page == everything[offset : offset + 5]
