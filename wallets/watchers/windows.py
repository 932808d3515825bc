"""Sizes of block windows: providers' limits differ."""

from typing import Final

from wallets.chains.evm.adapter import NEAR_TIP

LARGEST_WINDOW: Final = 2_000
# After this many whole windows, a provider's limit is tested again.
_CEILING_LIFE: Final = 100


class WindowSize:
    """Halves when a provider refuses a window, and doubles up to the known limit."""

    def __init__(self) -> None:
        self._ceiling = LARGEST_WINDOW
        self._windows_since = 0

    def after_refusal(self, window: int) -> int:
        """Return how many blocks to ask for instead of `window`, which was refused."""
        self._ceiling, self._windows_since = window // 2, 0
        return self._ceiling

    def after_success(self, window: int, *, read: int) -> int:
        """Return how many blocks to ask for after `read` of a `window` were answered."""
        if read < window:
            return window
        self._windows_since += 1
        if self._windows_since >= _CEILING_LIFE:
            self._ceiling, self._windows_since = LARGEST_WINDOW, 0
        return min(window * 2, self._ceiling)


def window_end(first: int, window: int, *, head_height: int) -> int:
    """Return where a window ends: far from the head, it stops before the range that is read block by block."""
    if head_height - first >= NEAR_TIP:
        return min(first + window - 1, head_height - NEAR_TIP)
    return min(first + min(window, NEAR_TIP) - 1, head_height)
