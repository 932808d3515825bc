"""When accounts are asked about what matters less than payments, so that reading these is not slowed."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from wallets.chains.base import Account
from wallets.chains.specs import ChainSpec

SECONDS: Final = 120.0
"""Between two looks at an account's tokens that no checkout accepts."""

# A local node counts no requests.
_LOCAL_SECONDS: Final = 2.0
_MOST_ACCOUNTS: Final = 100_000


class Intervals:
    """The accounts' next looks, by key. It forgets at a restart: each account is due at its first reading."""

    def __init__(self, spec: ChainSpec, *, clock: Callable[[], float]) -> None:
        self._seconds = _LOCAL_SECONDS if spec.is_local else SECONDS
        self._clock = clock
        self._next: dict[bytes, float] = {}

    def due(self, accounts: Sequence[Account]) -> list[Account]:
        """Return the accounts whose time has come."""
        now = self._clock()
        return [one for one in accounts if self._next.get(one.key, now) <= now]

    def note(self, keys: Collection[bytes]) -> None:
        """Note that these accounts were looked at."""
        if len(self._next) > _MOST_ACCOUNTS:
            self._next.clear()
        self._next |= dict.fromkeys(keys, self._clock() + self._seconds)
