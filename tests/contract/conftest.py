"""What every API test needs: counters of its own, chains that can be offered, clients."""

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accounts.states import Mode
from gateway.core import valkey
from tests.contract.client import ApiClient, client_of
from tests.factories import LOCAL_NODES, NOON, make_live_chain, make_merchant, make_wallet


@pytest.fixture(autouse=True)
def fresh_counters(settings: Any) -> None:
    """No request counted yet, and local chains configured."""
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    valkey._breaker.closed_again_at = 0.0


@pytest.fixture
def still_clock() -> Iterator[Any]:
    """The middle of a rate window, standing still: what is counted never straddles two."""
    with time_machine.travel(NOON + timedelta(seconds=30), tick=False) as traveller:
        yield traveller


@pytest.fixture
def tester() -> ApiClient:
    """A merchant's test key."""
    return client_of(mode=Mode.TEST)


@pytest.fixture
def seller() -> ApiClient:
    """A live key of a merchant with wallets on Base and Polygon, whose watchers are well."""
    merchant = make_merchant()
    for chain in ("base", "polygon"):
        make_live_chain(chain)
        make_wallet(merchant, chain)
    return client_of(merchant, Mode.LIVE)


@pytest.fixture(scope="module")
def document(django_db_blocker: Any) -> dict[str, Any]:
    """The document as a client downloads it."""
    with django_db_blocker.unblock():
        body: dict[str, Any] = ApiClient().get("/openapi.json").body
    return body
