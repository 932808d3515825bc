"""Following forks where accounts are read: what a fork took away is not listed any more, and may come back."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from wallets.chains.base import Account, AccountAdapter, AccountReading, Head
from wallets.chains.specs import ChainSpec
from wallets.watchers.account_trails import (
    Recorded,
    Trail,
)

_FLOORS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Missing:
    """Recorded facts that did not come again: `lost` are known to no node any more, `unsure` could not be asked for.

    `lost_moved` and `unsure_moved` are the same of what moved in watched wallets.
    """

    lost: Sequence[Recorded] = ()
    unsure: Sequence[Recorded] = ()
    lost_moved: Sequence[Recorded] = ()
    unsure_moved: Sequence[Recorded] = ()

    def final_height(self, height: int) -> int:
        """Return up to where transfers may become final, if it is up to `height` when none is missing."""
        return _below(self.unsure, height)

    def final_moved_height(self, height: int) -> int:
        """Return the same for movements, which transfers never wait for."""
        return _below(self.unsure_moved, height)


class AccountForks:
    """Looks for recent facts that were recorded and did not come again when their account was read.

    What is missing is asked for, once after it is final to the chain. Where nothing is missing it asks no node. What moved
    in watched wallets is followed as what was paid is, but apart: failing to find out about it delays no payment.
    """

    def __init__(
        self,
        spec: ChainSpec,
        adapter: AccountAdapter,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._payments = Trail(spec, adapter, of_movements=False)
        self._movements = Trail(spec, adapter, of_movements=True)
        self.forget()

    def forget(self) -> None:
        """Begin as if nothing was known."""
        self._floors: Mapping[bytes, Account] = {}
        self._floors_due = 0.0
        self._payments.forget()
        self._movements.forget()

    def from_where(self, account: Account) -> Account:
        """Return the account as it should be read: from further below, where something of it may return."""
        floor = self._floors.get(account.key)
        if floor is None:
            return account
        return replace(
            account,
            height=min(account.height, floor.height),
            time=min(account.time, floor.time),
        )

    def look(
        self, readings: Sequence[AccountReading], *, head: Head, now: datetime
    ) -> Missing:
        """Tell what is missing, after these accounts were read."""
        if self._clock() >= self._floors_due:
            self._floors_due = self._clock() + _FLOORS_SECONDS
            self._floors = self._find_floors(head, now)
        return Missing(
            *self._payments.look(readings, head=head),
            *self._movements.look(readings, head=head),
        )

    def _find_floors(self, head: Head, now: datetime) -> dict[bytes, Account]:
        floors: dict[bytes, Account] = {}
        for trail in (self._payments, self._movements):
            for floor in trail.floors(head, now=now):
                known = floors.get(floor.key, floor)
                floors[floor.key] = min(floor, known, key=lambda one: one.height)
        return floors


def _below(unsure: Sequence[Recorded], height: int) -> int:
    return min([height, *(one.fact.block_height - 1 for one in unsure)])
