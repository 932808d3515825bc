"""What the tests of watched wallets need: counters of their own, a merchant's key, a chain with a pass beside its watcher."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.wallets.books import Books
from tests.wallets.watched.bench import Bench


@pytest.fixture(autouse=True)
def _fresh_counters(settings: Any) -> None:
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"


@pytest.fixture(autouse=True)
def never_rests(settings: Any) -> None:
    """The watcher reads when it is told to, although nobody is expected to pay."""
    settings.CHAIN_POLL_SECONDS = settings.CHAIN_IDLE_SECONDS = 0.0


@pytest.fixture
def shop() -> ApiClient:
    """A merchant's live key."""
    return client_of(mode=Mode.LIVE)


@pytest.fixture
def bench(books: Books) -> Iterator[Bench]:
    """Base, its watcher, and the pass beside it."""
    made = Bench(books)
    yield made
    made.beside.close()
