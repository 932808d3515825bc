"""A cache of nodes' answers that cannot change.

It is separate for each node: a wrong answer of one must not outlive the change to another.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from cachetools import LRUCache

from wallets.chains.base import TokenTransfer
from wallets.chains.ton.decode import Listed, Place

MOST_REMEMBERED: Final = 10_000


class TonMemory:
    """Results of listed transfers, and addresses of jetton wallets. The least recently used are dropped first."""

    def __init__(self) -> None:
        self._settled: LRUCache[tuple[str, str], TokenTransfer | None] = LRUCache(MOST_REMEMBERED)
        self._wallets: LRUCache[tuple[str, Place], bytes] = LRUCache(MOST_REMEMBERED)

    def recall(self, node: str, listed: Iterable[Listed]) -> dict[str, TokenTransfer | None]:
        """Return the cached results of transfers, by listed hash; None if nothing was received."""
        names = [row.tx_hash for row in listed]
        return {name: self._settled[node, name] for name in names if (node, name) in self._settled}

    def keep(self, node: str, settled: Mapping[str, TokenTransfer | None]) -> None:
        """Cache the results of transfers."""
        for name, transfer in settled.items():
            self._settled[node, name] = transfer

    def wallets(self, node: str, places: Collection[Place]) -> dict[Place, bytes]:
        """Return the cached jetton wallets."""
        return {place: self._wallets[node, place] for place in places if (node, place) in self._wallets}

    def keep_wallets(self, node: str, found: Mapping[Place, bytes]) -> None:
        """Cache jetton wallets: their addresses follow from their owners."""
        for place, wallet in found.items():
            self._wallets[node, place] = wallet

    def clear(self) -> None:
        """Forget everything."""
        self._settled.clear()
        self._wallets.clear()
