"""Readers of a local Solana chain."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from demo.localnet.solana.node import SolanaNode
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.solana.reading import new_owner, open_reader
from wallets.chains.solana.adapter import PAGE, SolanaAdapter

OpenReader = Callable[..., SolanaAdapter]


@pytest.fixture
def open_on(solana_node: SolanaNode) -> Iterator[OpenReader]:
    """Open a reader of the node, or of the URLs given."""
    with ExitStack() as stack:

        def open_(*urls: str, token: str | None = None, page: int = PAGE) -> SolanaAdapter:
            nodes = urls or (solana_node.url,)
            adapter = open_reader(*nodes, token=token, page=page)
            stack.callback(adapter.close)
            return adapter

        yield open_


@pytest.fixture
def reader(open_on: OpenReader) -> SolanaAdapter:
    return open_on()


@pytest.fixture
def proxy(solana_node: SolanaNode) -> Iterator[RpcProxy]:
    with RpcProxy(solana_node.url) as proxy:
        yield proxy


@pytest.fixture
def owner() -> str:
    return new_owner()
