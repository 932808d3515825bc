"""Follows reorgs on chains read by account: removed transactions are no longer listed, and may come back."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from wallets.chains.base import Account, AccountAdapter, AccountReading, Head
from wallets.chains.specs import ChainSpec
from wallets.watchers.account_trails import Recorded, Trail

_FLOORS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Missing:
    """Recorded facts that were not listed again: `lost` are unknown to all nodes, `unsure` could not be checked.

    `lost_moved` and `unsure_moved` are the same for movements of watched wallets.
    """

    lost: Sequence[Recorded] = ()
    unsure: Sequence[Recorded] = ()
    lost_moved: Sequence[Recorded] = ()
    unsure_moved: Sequence[Recorded] = ()

    def final_height(self, height: int) -> int:
        """Return up to where transfers may become final, given that they may up to `height` if none is missing."""
        return _below(self.unsure, height)

    def final_moved_height(self, height: int) -> int:
        """Return the same for movements, which never delay transfers."""
        return _below(self.unsure_moved, height)


class AccountForks:
    """Finds recent facts that were recorded but not listed again when their account was read.

    Nodes are asked about each missing one once, after it is final; without missing ones no node is asked. Movements are
    followed like payments, but separately: their failures delay no payment.
    """

    def __init__(
        self, spec: ChainSpec, adapter: AccountAdapter, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._payments = Trail(spec, adapter, of_movements=False)
        self._movements = Trail(spec, adapter, of_movements=True)
        self.forget()

    def forget(self) -> None:
        """Reset to the initial state."""
        self._floors: Mapping[bytes, Account] = {}
        self._floors_due = 0.0
        self._payments.forget()
        self._movements.forget()

    def from_where(self, account: Account) -> Account:
        """Return the account with the height to read it from: lower, if removed facts may return."""
        floor = self._floors.get(account.key)
        if floor is None:
            return account
        return replace(account, height=min(account.height, floor.height), time=min(account.time, floor.time))

    def look(self, readings: Sequence[AccountReading], *, head: Head, now: datetime) -> Missing:
        """Return the facts that are missing after these accounts were read."""
        if self._clock() >= self._floors_due:
            self._floors_due = self._clock() + _FLOORS_SECONDS
            self._floors = self._find_floors(head, now)
        return Missing(*self._payments.look(readings, head=head), *self._movements.look(readings, head=head))

    def _find_floors(self, head: Head, now: datetime) -> dict[bytes, Account]:
        floors: dict[bytes, Account] = {}
        for trail in (self._payments, self._movements):
            for floor in trail.floors(head, now=now):
                known = floors.get(floor.key, floor)
                floors[floor.key] = min(floor, known, key=lambda one: one.height)
        return floors


def _below(unsure: Sequence[Recorded], height: int) -> int:
    return min([height, *(one.fact.block_height - 1 for one in unsure)])
