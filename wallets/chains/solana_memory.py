"""What was read before, so that reading it again costs nothing."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from wallets.chains.solana_transactions import ReadTransaction

MOST_REMEMBERED: Final = 10_000


class TransactionMemory:
    """Transactions that were read, by signature and slot, the longest unused forgotten first.

    What a transaction did in the block that two thirds voted for does not change; if a fork takes it to another slot, it
    is another entry.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], ReadTransaction] = OrderedDict()

    def recall(self, wanted: Mapping[str, int]) -> dict[str, ReadTransaction]:
        """Return what is known of these signatures in these slots."""
        known = {
            name: place
            for name in wanted
            if (place := (name, wanted[name])) in self._known
        }
        for place in known.values():
            self._known.move_to_end(place)
        return {name: self._known[place] for name, place in known.items()}

    def keep(self, name: str, read: ReadTransaction) -> None:
        """Remember a transaction by its signature."""
        self._known[name, read.slot] = read
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
