"""Adapters of Ethereum's kin without a watcher: opened on any nodes, and read from the first block to the last."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from localnet.tokens import token_address
from tests.wallets.factories import TOKENS
from wallets.chains.base import Hint, TokenTransfer
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool


def spec_of(chain: str, *urls: str, network: str = "mainnet", **settings: str) -> ChainSpec:
    """A chain as on the main network, but for its nodes and tokens."""
    tokens = {f"TOKEN_{key}": token_address(symbol) for key, symbol in TOKENS.get(chain, {}).items()}
    given = {"RPC_URLS": ",".join(urls)} | tokens | settings
    prefix = chain.upper()
    return load_chains(network, {f"{prefix}_{k}": v for k, v in given.items()})[chain]


@contextmanager
def opened(spec: ChainSpec) -> Iterator[EvmAdapter]:
    """The chain's adapter, closed afterwards."""
    adapter = spec.family.open_adapter(spec, open_pool(spec))
    assert isinstance(adapter, EvmAdapter)
    yield adapter
    adapter.close()


def read_whole(adapter: EvmAdapter, keys: Collection[bytes]) -> list[TokenTransfer]:
    """Everything that arrived in these addresses since the first block."""
    head = adapter.head()
    reading = adapter.read(
        0, head.block.height, head=head, hint=Hint(frozenset(keys)), ours=lambda found: found & {*keys}
    )
    return list(reading.transfers)
