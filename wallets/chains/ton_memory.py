"""What nodes told before and cannot change, so that it is not asked again.

It is kept by node: what one of them told wrongly must not outlive the change to another.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from wallets.chains.base import TokenTransfer
from wallets.chains.ton_decode import Listed, Place

MOST_REMEMBERED: Final = 10_000


class TonMemory:
    """What became of listed transfers, and where jetton wallets are; the longest unused forgotten first."""

    def __init__(self) -> None:
        self._settled: OrderedDict[tuple[str, str], TokenTransfer | None] = (
            OrderedDict()
        )
        self._wallets: OrderedDict[tuple[str, Place], bytes] = OrderedDict()

    def recall(
        self, node: str, listed: Iterable[Listed]
    ) -> dict[str, TokenTransfer | None]:
        """Return what became of those transfers that are remembered, by listed hash; None where nothing was received."""
        names = [row.tx_hash for row in listed]
        return {
            name: self._settled[node, name]
            for name in names
            if (node, name) in self._settled
        }

    def keep(self, node: str, settled: Mapping[str, TokenTransfer | None]) -> None:
        """Remember what became of transfers."""
        for name, transfer in settled.items():
            self._settled[node, name] = transfer
            self._settled.move_to_end((node, name))
        while len(self._settled) > MOST_REMEMBERED:
            self._settled.popitem(last=False)

    def wallets(self, node: str, places: Collection[Place]) -> dict[Place, bytes]:
        """Return the jetton wallets that are remembered."""
        return {
            place: self._wallets[node, place]
            for place in places
            if (node, place) in self._wallets
        }

    def keep_wallets(self, node: str, found: Mapping[Place, bytes]) -> None:
        """Remember jetton wallets: their addresses follow from their owners."""
        for place, wallet in found.items():
            self._wallets[node, place] = wallet
            self._wallets.move_to_end((node, place))
        while len(self._wallets) > MOST_REMEMBERED:
            self._wallets.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._settled.clear()
        self._wallets.clear()
