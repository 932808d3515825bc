"""EVM nodes for settlements: kept connections, and gas prices cached for a block's time."""

from threading import Lock
from typing import Final

from cachetools import TTLCache, cachedmethod

from settlements.gas.fees import Prices
from settlements.gas.node import GasNode
from wallets.chains.adapters import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec
from x402.exact.connections import KeptPerThread

# Attempts are signed for twice the base fee, which grows by an eighth a block at most.
_PRICES_SECONDS: Final = 2.0
# Keyed by node, shared by all threads.
_prices: Final[TTLCache[tuple[str, ...], Prices]] = TTLCache(1_000, _PRICES_SECONDS)
_lock: Final = Lock()


class _SteadyNode(GasNode):
    """A node whose gas prices are cached for a block's time."""

    def __init__(self, spec: ChainSpec) -> None:
        self.pool = open_pool(spec)
        super().__init__(self.pool)
        self._urls = spec.rpc_urls

    def prices(self) -> Prices:
        """Return gas prices, at most a block old."""
        return self._cached_prices()

    @cachedmethod(lambda _: _prices, key=lambda self: self._urls, lock=lambda _: _lock)
    def _cached_prices(self) -> Prices:
        return super().prices()


_kept: Final = KeptPerThread(_SteadyNode)


def pool_of(spec: ChainSpec) -> RpcPool:
    """Return this thread's pool of a chain's nodes."""
    return _kept.of(spec).pool


def gas_node_of(spec: ChainSpec) -> GasNode:
    """Return the same nodes for gas transactions."""
    return _kept.of(spec)
