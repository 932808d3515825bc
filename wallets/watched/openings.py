"""Finds where a newly watched wallet's history ends: the block from which the chain's watcher certainly knows it.

A pass in progress does not know a new wallet. So the end is set only after the end of a pass that began when the wallet was
visible; that pass's blocks are read twice, and recorded once.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from wallets.chains.specs import ChainSpec
from wallets.models import AccountCursor, ChainCursor, WatchedWallet
from wallets.networks import reads_accounts
from wallets.watched.turns import importing

_AT_ONCE = 1_000

_Seen = tuple[int, datetime]

StartFinder = Callable[[int, datetime], int]
"""Returns the first block of the history of a wallet that is watched, now, from a block on. Raises ChainError."""


class Openings:
    """Opens the histories of one chain. Its observations are in memory: a restart only waits longer."""

    def __init__(self, spec: ChainSpec, first_block: StartFinder) -> None:
        self._spec = spec
        self._first_block = first_block
        # Wallets seen, and a time after that. A wallet that was removed and added again must be seen again.
        self._seen: dict[_Seen, datetime | None] = {}

    def tick(self, *, now: datetime) -> int:
        """Open the histories whose end is known; return how many. Raises ChainError."""
        self._forget_replaced()
        waiting = list(importing(self._spec.name).filter(history_until=None).order_by("pk")[:_AT_ONCE])
        read_at = self._read_at({bytes(wallet.key) for wallet in waiting})
        ready: dict[int, list[int]] = {}
        for wallet in waiting:
            since, known = self._since(wallet, now), read_at.get(bytes(wallet.key))
            if since is not None and known is not None and known[0] > since:
                ready.setdefault(known[1], []).append(wallet.pk)
        present = {_seen(wallet) for wallet in waiting}
        self._seen = {name: at for name, at in self._seen.items() if name in present}
        for height, wallets in ready.items():
            self._open(wallets, height, now)
        return sum(map(len, ready.values()))

    def _since(self, wallet: WatchedWallet, now: datetime) -> datetime | None:
        """Return a time when the wallet was already visible: the start of the check after the first one."""
        name = _seen(wallet)
        if name not in self._seen:
            self._seen[name] = None
        elif self._seen[name] is None:
            self._seen[name] = now
        return self._seen[name]

    def _read_at(self, keys: Collection[bytes]) -> dict[bytes, tuple[datetime, int]]:
        """Return when the last finished pass over these accounts began, and the block it reached."""
        if not keys:
            return {}
        if reads_accounts(self._spec):
            rows = AccountCursor.objects.filter(chain=self._spec.name, key__in=keys)
            return {
                bytes(key): (read_at, height)
                for key, read_at, height in rows.values_list("key", "read_at", "height")
                if read_at is not None and height is not None
            }
        cursor = ChainCursor.objects.filter(chain=self._spec.name).first()
        if cursor is None or cursor.height is None or cursor.head_at is None:
            return {}
        return dict.fromkeys(keys, (cursor.head_at, cursor.height))

    def _open(self, wallets: Sequence[int], until: int, now: datetime) -> None:
        first = min(self._first_block(until, now), until + 1)
        WatchedWallet.objects.filter(pk__in=wallets, history_until=None).update(
            history_from=first, history_height=first - 1, history_until=until
        )

    def _forget_replaced(self) -> None:
        """Forget wallets of a local chain that was reset: the blocks of their histories are gone."""
        if not self._spec.is_local:
            return
        cursor = ChainCursor.objects.filter(chain=self._spec.name).first()
        if cursor is None or cursor.height is None:
            return
        beyond = importing(self._spec.name).filter(history_until__gt=cursor.height)
        beyond.update(history_from=None, history_height=None, history_until=None)


def _seen(wallet: WatchedWallet) -> _Seen:
    return wallet.pk, wallet.created_at
