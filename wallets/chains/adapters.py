"""Opening a chain: the adapter of its family over its nodes."""

from wallets.chains.base import BlockAdapter
from wallets.chains.evm import EvmAdapter
from wallets.chains.pool import RpcPool, has_chain_id
from wallets.chains.registry import ChainSpec


def open_pool(spec: ChainSpec) -> RpcPool:
    """Return a pool of the chain's nodes. Nothing is asked yet."""
    identify = has_chain_id(spec.chain_id) if spec.chain_id is not None else None
    return RpcPool(spec.rpc_urls, identify=identify)


def open_adapter(spec: ChainSpec, pool: RpcPool) -> BlockAdapter:
    """Return a reader of the chain."""
    return EvmAdapter(spec, pool)
