"""Fixtures for the tests of wallets."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from demo.localnet.anvil import Anvil
from tests.nodes.proxy import RpcProxy
from tests.wallets.books import Books, Open
from wallets import selectors


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
