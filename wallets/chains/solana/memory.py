"""A cache of transactions that were read."""

from collections.abc import Mapping
from typing import Final

from cachetools import LRUCache

from wallets.chains.solana.changes import ReadTransaction

MOST_REMEMBERED: Final = 10_000


class TransactionMemory:
    """Transactions that were read, by signature and slot. The least recently used are dropped first.

    What a transaction did in the block that two thirds voted for does not change; if a fork takes it to another slot, it
    is another entry.
    """

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, int], ReadTransaction] = LRUCache(MOST_REMEMBERED)

    def recall(self, wanted: Mapping[str, int]) -> dict[str, ReadTransaction]:
        """Return the cached transactions of these signatures in these slots."""
        return {place[0]: self._known[place] for place in wanted.items() if place in self._known}

    def keep(self, name: str, read: ReadTransaction) -> None:
        """Cache a transaction by its signature."""
        self._known[name, read.slot] = read
