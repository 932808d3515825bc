"""EVM nodes as settlements ask them: on connections that are kept, and for prices once in a block's time."""

import time
from typing import Final

from settlements.gas.fees import Prices
from settlements.gas.node import GasNode
from wallets.chains.adapters import open_pool
from wallets.chains.pool import RpcPool
from wallets.chains.registry import ChainSpec
from x402.exact.connections import KeptPerThread

# Attempts are signed for twice the base fee, which grows by an eighth a block at most.
_PRICES_SECONDS: Final = 2.0


# By the nodes that told, for all threads; when, on the monotonic clock.
_prices: dict[tuple[str, ...], tuple[float, Prices]] = {}


class _SteadyNode(GasNode):
    """Remembers what gas costs for a block's time."""

    def __init__(self, spec: ChainSpec) -> None:
        self.pool = open_pool(spec)
        super().__init__(self.pool)
        self._urls = spec.rpc_urls

    def prices(self) -> Prices:
        """Return what gas costs, or cost a moment ago."""
        now = time.monotonic()
        known = _prices.get(self._urls)
        if known is not None and now - known[0] < _PRICES_SECONDS:
            return known[1]
        found = super().prices()
        _prices[self._urls] = (now, found)
        return found


_kept: Final = KeptPerThread(_SteadyNode)


def pool_of(spec: ChainSpec) -> RpcPool:
    """Return this thread's pool of a chain's nodes."""
    return _kept.of(spec).pool


def gas_node_of(spec: ChainSpec) -> GasNode:
    """Return the same nodes, to be asked about transactions."""
    return _kept.of(spec)
