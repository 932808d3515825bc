"""Reads the history of watched wallets on chains that are read by blocks, a window at a time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction

from wallets.chains.base import BlockAdapter, ChainUnavailableError, Head, Hint, RangeTooLargeError, Reading
from wallets.chains.specs import ChainSpec
from wallets.models import ChainCursor, WatchedWallet
from wallets.transfers.movements import confirm_movements, record_movements
from wallets.watched.turns import check_lease, next_group, write_turn
from wallets.watchers.owners import Owners
from wallets.watchers.windows import LARGEST_WINDOW, WindowSize, window_end

MOST_TOGETHER: Final = 500
"""How many wallets every node accepts as alternatives, with Tron's two spellings of each."""


class BlockHistory:
    """Reads histories of one chain from the oldest block on, several wallets in one request."""

    def __init__(self, spec: ChainSpec, adapter: BlockAdapter, *, owner: str) -> None:
        self._spec = spec
        self._adapter = adapter
        self._owner = owner
        self._sizes, self._window = WindowSize(), LARGEST_WINDOW

    def first_block(self, until: int, _now: datetime) -> int:
        """Return the first block of the history of a wallet watched from the block `until` on, by the chain's block time."""
        span = timedelta(days=settings.WALLET_HISTORY_DAYS)
        return max(until - span // timedelta(seconds=self._spec.block_seconds), 0)

    def next_group(self) -> list[WatchedWallet]:
        """Return the wallets whose turn it is; one window contains their next blocks."""
        return next_group(self._spec.name, most=MOST_TOGETHER, span=self._window)

    def read(self, wallets: Sequence[WatchedWallet], *, genesis: str, now: datetime) -> bool:
        """Read the next window of some wallets and write it; return whether there was one.

        Only final blocks are read: the watcher reads those that a reorg may replace. Local chains may stand still for ever,
        and are read to the end. Raises ChainError, LeaseLostError.
        """
        head = self._adapter.head()
        cursor = ChainCursor.objects.get(chain=self._spec.name)
        known = min(cursor.height or 0, head.block.height)
        final = self._adapter.final_height(head, read_height=known)
        first = (wallets[0].history_height or 0) + 1
        last = self._last(wallets, head, known if self._spec.is_local else final)
        reading = self._ask(first, last, wallets, head) if first <= last else None
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            if reading is not None:
                movements = Owners(self._spec.name).movements(reading.transfers)
                record_movements(movements, now=now)
                confirm_movements(self._spec.name, final, now=now)
            through = reading.last if reading is not None else first - 1
            write_turn(wallets, [through] * len(wallets), now=now)
        return reading is not None

    def _last(self, wallets: Sequence[WatchedWallet], head: Head, limit: int) -> int:
        first = (wallets[0].history_height or 0) + 1
        end = window_end(first, self._window, head_height=head.block.height)
        wanted = max(wallet.history_until or 0 for wallet in wallets)
        return min(end, limit, wanted)

    def _ask(self, first: int, last: int, wallets: Sequence[WatchedWallet], head: Head) -> Reading:
        """Read a window, or as much of its beginning as the node returns at once."""
        keys = frozenset(bytes(wallet.key) for wallet in wallets)
        hint = Hint(keys, keys)
        while True:
            try:
                reading = self._adapter.read(first, last, head=head, hint=hint, ours=keys.intersection)
            except RangeTooLargeError:
                if first == last:
                    raise
                self._window = self._sizes.after_refusal(last - first + 1)
                last = first + self._window - 1
                continue
            except ChainUnavailableError:
                if first == last:
                    # The size was not the cause: forget what was learned about it.
                    self._sizes, self._window = WindowSize(), LARGEST_WINDOW
                raise
            read = last - first + 1
            self._window = self._sizes.after_success(self._window, read=read)
            return reading
