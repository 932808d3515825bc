"""Opening a chain: the adapter of its family over its nodes."""

from wallets.chains.base import ChainAdapter
from wallets.chains.evm import EvmAdapter
from wallets.chains.pool import RpcPool
from wallets.chains.registry import ChainSpec


def open_pool(spec: ChainSpec) -> RpcPool:
    """Return a pool of the chain's nodes. Nothing is asked yet."""
    return RpcPool(spec.rpc_urls, chain_id=spec.chain_id)


def open_adapter(spec: ChainSpec, pool: RpcPool) -> ChainAdapter:
    """Return a reader of the chain."""
    return EvmAdapter(spec, pool)
