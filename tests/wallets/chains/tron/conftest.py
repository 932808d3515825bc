"""Readers of a local Tron chain: its JSON-RPC, and its TronGrid behind a proxy that can be made to lie."""

from collections.abc import Iterator

import pytest

from demo.localnet.tron import TronNode
from tests.wallets.contract.hostile import HttpProxy
from tests.wallets.evmkin import opened, spec_of
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.tron.grid import TronGridSource


@pytest.fixture
def adapter(tron_node: TronNode) -> Iterator[EvmAdapter]:
    with opened(spec_of("tron", tron_node.url)) as adapter:
        yield adapter


@pytest.fixture
def hostile(tron_node: TronNode) -> Iterator[HttpProxy]:
    with HttpProxy(tron_node.grid_url) as proxy:
        yield proxy


@pytest.fixture
def source(tron_node: TronNode, hostile: HttpProxy) -> Iterator[TronGridSource]:
    source = TronGridSource(spec_of("tron", tron_node.url), hostile.url)
    yield source
    source.close()
