"""Connections to nodes that are kept between requests: a settlement asks half a dozen things, and is waited for."""

import threading

from wallets.chains.adapters import open_pool
from wallets.chains.pool import RpcPool
from wallets.chains.registry import ChainSpec


class _Kept(threading.local):
    """Each thread's own: a pool is not for several at once."""

    def __init__(self) -> None:
        self.pools: dict[str, tuple[ChainSpec, RpcPool]] = {}


_kept = _Kept()


def pool_of(spec: ChainSpec) -> RpcPool:
    """Return this thread's pool of a chain's nodes."""
    known = _kept.pools.get(spec.name)
    if known is not None and known[0] == spec:
        return known[1]
    if known is not None:
        known[1].close()
    pool = open_pool(spec)
    _kept.pools[spec.name] = (spec, pool)
    return pool
