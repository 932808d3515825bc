"""Fixtures for the tests of wallets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from tests.nodes.proxy import RpcProxy
from tests.wallets.books import Books, Open
from tests.wallets.chain_reports import USDC
from tests.wallets.factories import make_deposit, make_watcher
from wallets import selectors
from wallets.watchers.blocks import Watcher


@pytest.fixture(autouse=True)
def forget_remembered() -> None:
    """What one test remembered must not answer for the next."""
    selectors.forget()


@pytest.fixture
def open_books() -> Iterator[Open]:
    """Opens the books of a node's chain."""
    with ExitStack() as stack:

        def opened(node: Anvil, *, chain: str = "base", nodes: int = 2) -> Books:
            proxies = [stack.enter_context(RpcProxy(node.url)) for _ in range(nodes)]
            books = Books(node, chain, *proxies)
            stack.callback(books.close)
            return books

        yield opened


@pytest.fixture
def books(base_node: Anvil, open_books: Open) -> Books:
    """The books of Base, behind two proxies."""
    return open_books(base_node)


@pytest.fixture
def watcher(base_node: Anvil) -> Iterator[Watcher]:
    """A watcher of Base, on which somebody is expected to pay: otherwise it is left alone between passes."""
    make_deposit()
    watcher = make_watcher(base_node.url)
    yield watcher
    watcher.close()


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    """Set the chains' settings."""

    def configure(**given: str) -> None:
        settings.CHAIN_NETWORK = "local"
        settings.CHAIN_SETTINGS = given

    return configure


@pytest.fixture
def base(base_node: Anvil, configure: Callable[..., None]) -> Iterator[Watcher]:
    """A watcher of Base as the settings have it; nobody is expected to pay there."""
    configure(BASE_RPC_URLS=base_node.url, BASE_TOKEN_USDC=USDC, BASE_CONFIRMATIONS="6")
    watcher = make_watcher(base_node.url)
    yield watcher
    watcher.close()
