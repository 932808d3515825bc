"""What API clients may not say about watched wallets."""

from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.factories import WALLET
from tests.wallets.watched.test_api import NEW, PATH, added
from wallets.models import WatchedWallet

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"chain": None}, "chain", "parameter_missing"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"chain": ["base"]}, "chain", "parameter_invalid"),
        ({"address": None}, "address", "parameter_missing"),
        ({"address": 1}, "address", "parameter_invalid"),
        ({"address": "0x12"}, "address", "address_invalid"),
        ({"address": WALLET[:-1] + "9"}, "address", "address_invalid"),
        ({"chain": "tron"}, "address", "address_invalid"),
        ({"label": 1}, "label", "parameter_invalid"),
        ({"label": "x" * 81}, "label", "parameter_too_long"),
        ({"tags": "eu"}, "tags", "parameter_invalid"),
        ({"tags": [None]}, "tags", "parameter_invalid"),
        ({"tags": ["a,b"]}, "tags", "parameter_invalid"),
        ({"tags": ["x" * 41]}, "tags", "parameter_too_long"),
        ({"tags": [f"t{n}" for n in range(21)]}, "tags", "parameter_invalid"),
    ],
)
def test_what_cannot_be_watched_is_named(shop: ApiClient, body: dict[str, Any], param: str, code: str) -> None:
    assert shop.post(PATH, NEW | body).refusal == (400, code, param)
    assert not WatchedWallet.objects.exists()


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "yesterday"}, "from", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"token": "DOGE"}, "token", "token_unsupported"),
        ({"direction": "up"}, "direction", "parameter_invalid"),
        ({"limit": "0"}, "limit", "parameter_invalid"),
        ({"starting_after": "mov_1"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "mov_" + "9" * 40}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_x"}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_of_movements_is_named(
    shop: ApiClient, query: dict[str, str], param: str, code: str
) -> None:
    path = f"{PATH}/{added(shop)['id']}/transactions"
    assert shop.get(path, query).refusal == (400, code, param)


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"tag": "\x00"}, "tag", "parameter_invalid"),
        ({"starting_after": "wal_nobodys"}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_of_wallets_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(PATH, query).refusal == (400, code, param)
