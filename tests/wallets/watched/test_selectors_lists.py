"""Pages of watched wallets."""

from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.wallets.watched.test_api import PATH, listed
from tests.wallets.watched_wallets import hold, some_address, watch

pytestmark = pytest.mark.django_db


def test_the_list_is_newest_first_narrowed_and_paged(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallets = [watch(shop.merchant, tags=["eu", f"n{number}"]) for number in range(3)]
    other = watch(shop.merchant, chain="polygon", tags=["us"])
    ids = [wallet.public_id for wallet in (other, *reversed(wallets))]
    assert listed(shop) == ids
    assert listed(shop, chain="polygon") == ids[:1]
    assert listed(shop, tag="eu") == ids[1:]
    assert listed(shop, tag="eu", chain="polygon") == []
    assert listed(shop, tag="e") == []
    assert listed(shop, limit=1, starting_after=ids[1]) == ids[2:3]
    assert listed(shop, limit=2, offset=2) == ids[2:]
    body = shop.get(PATH, {"limit": 2}).body
    assert (body["total"], body["limit"], body["offset"]) == (4, 2, 0)
    assert "total" not in shop.get(PATH, {"include_total": "false"}).body
    shop.send("DELETE", f"{PATH}/{ids[1]}")
    assert listed(shop, starting_after=ids[1]) == ids[2:]


def test_a_page_of_wallets_takes_the_same_questions_however_many_they_are(
    shop: ApiClient, django_assert_max_num_queries: Any
) -> None:
    assert shop.merchant is not None
    for _ in range(10):
        hold(watch(shop.merchant, address=some_address()), 1)
    listed(shop)
    # The wallets, their balances, how many there are.
    with django_assert_max_num_queries(3):
        listed(shop)
