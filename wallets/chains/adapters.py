"""Opens pools of a chain's nodes."""

from itertools import zip_longest

from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec


def open_pool(spec: ChainSpec) -> RpcPool:
    """Return a pool of the chain's nodes, without asking any of them yet."""
    pairs = zip_longest(spec.rpc_urls, spec.api_keys, fillvalue="")
    nodes = [spec.family.open_node(url, api_key=key) for url, key in pairs]
    return RpcPool(nodes, identify=spec.family.identify(spec))
