"""A node of Base, asked through a proxy that can be made to lie."""

from collections.abc import Iterator

import pytest

from demo.localnet.anvil import Anvil
from tests.nodes.proxy import RpcProxy
from wallets.chains.rpc.client import Node


@pytest.fixture
def proxy(base_node: Anvil) -> Iterator[RpcProxy]:
    with RpcProxy(base_node.url) as proxy:
        yield proxy


@pytest.fixture
def node(proxy: RpcProxy) -> Iterator[Node]:
    node = Node(proxy.url)
    yield node
    node.close()
