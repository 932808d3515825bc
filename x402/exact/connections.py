"""Connections to nodes that are kept between requests: a settlement asks half a dozen things, and is waited for."""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec


class Pooled(Protocol):
    """Something that asks a pool's nodes."""

    pool: RpcPool


T = TypeVar("T", bound=Pooled)


class KeptPerThread(threading.local, Generic[T]):
    """What each thread opened for each chain: a pool is not for several at once. Other settings have other nodes."""

    def __init__(self, open_nodes: Callable[[ChainSpec], T]) -> None:
        self._open = open_nodes
        self._kept: dict[str, tuple[ChainSpec, T]] = {}

    def of(self, spec: ChainSpec) -> T:
        """Return this thread's own for a chain."""
        known = self._kept.get(spec.name)
        if known is not None and known[0] == spec:
            return known[1]
        if known is not None:
            known[1].pool.close()
        opened = self._open(spec)
        self._kept[spec.name] = (spec, opened)
        return opened
