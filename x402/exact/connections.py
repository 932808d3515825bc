"""Connections to nodes, kept between requests: a settlement sends half a dozen requests while a client waits."""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from wallets.chains.family import ChainSpec
from wallets.chains.rpc.pool import RpcPool


class Pooled(Protocol):
    """An object that uses a pool's nodes."""

    pool: RpcPool


T = TypeVar("T", bound=Pooled)


class KeptPerThread(threading.local, Generic[T]):
    """One object per thread and chain, because pools are not thread-safe. It is replaced when the chain's settings change."""

    def __init__(self, open_nodes: Callable[[ChainSpec], T]) -> None:
        self._open = open_nodes
        self._kept: dict[str, tuple[ChainSpec, T]] = {}

    def of(self, spec: ChainSpec) -> T:
        """Return this thread's object for a chain."""
        known = self._kept.get(spec.name)
        if known is not None and known[0] == spec:
            return known[1]
        if known is not None:
            known[1].pool.close()
        opened = self._open(spec)
        self._kept[spec.name] = (spec, opened)
        return opened
