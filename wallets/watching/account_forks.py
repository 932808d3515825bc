"""Following forks where accounts are read: what a fork took away is not listed any more, and may come back."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db.models import QuerySet

from accounts.states import Mode
from wallets.chains.base import (
    Account,
    AccountAdapter,
    AccountReading,
    ChainError,
    Head,
    TokenTransfer,
)
from wallets.chains.registry import ChainSpec
from wallets.models import Transfer
from wallets.states import TransferState
from wallets.watching.ingest import BEFORE_GENESIS
from wallets.watching.recorded import as_told

log = structlog.get_logger(__name__)

# Nodes list again what they told within a minute or two, so what is missing for longer has been looked for already.
_RECENT: Final = timedelta(minutes=10)
# A transaction that a fork took can be sent again for a minute or two; after that it is void.
_MAY_RETURN: Final = timedelta(minutes=10)
_FLOORS_SECONDS: Final = 5.0
_MOST_AT_ONCE: Final = 2_000

_Name = tuple[str, int, str, str]


@dataclass(frozen=True, slots=True)
class Missing:
    """Recorded transfers that did not come again: `lost` are known to no node any more, `unsure` could not be asked for."""

    lost: Sequence[Transfer] = ()
    unsure: Sequence[Transfer] = ()

    def final_height(self, height: int) -> int:
        """Return up to where transfers may become final, if it is up to `height` when none is missing."""
        return min([height, *(one.block_height - 1 for one in self.unsure)])


class AccountForks:
    """Looks for recent transfers that were recorded and did not come again when their account was read.

    What is missing is asked for, once after it is final to the chain. Where nothing is missing it asks no node.
    """

    def __init__(
        self,
        spec: ChainSpec,
        adapter: AccountAdapter,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._adapter = adapter
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Begin as if nothing was known."""
        self._floors: Mapping[bytes, Account] = {}
        self._floors_due = 0.0
        # Found to be there after they were final: no fork can take them.
        self._settled: set[int] = set()

    def from_where(self, account: Account) -> Account:
        """Return the account as it should be read: from further below, where a transfer of it may return."""
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
        missing = self._missing(readings, head)
        if not missing:
            return Missing()
        if not head.agreed:
            return Missing(unsure=missing)
        try:
            return Missing(lost=self._lost(missing))
        except ChainError as error:
            log.warning("forks not followed", chain=self._spec.name, error=str(error))
            return Missing(unsure=missing)

    def _missing(
        self, readings: Sequence[AccountReading], head: Head
    ) -> list[Transfer]:
        told = {_name(one) for reading in readings for one in reading.transfers}
        through = {reading.key: reading.through.height for reading in readings}
        recent = self._recent(head, [TransferState.DETECTED, TransferState.CONFIRMED])
        found = list(recent)
        # Forget what is not recent any more.
        self._settled &= {one.pk for one in found}
        return [
            one
            for one in found
            if one.pk not in self._settled
            and one.block_height <= through.get(_key(one), -1)
            and _name(one) not in told
        ]

    def _lost(self, missing: Sequence[Transfer]) -> list[Transfer]:
        finalized = self._adapter.finalized()
        answers = self._adapter.lost(
            [as_told(one, self._spec.family) for one in missing]
        )
        pairs = list(zip(missing, answers, strict=True))
        self._settled |= {
            one.pk
            for one, is_lost in pairs
            if not is_lost and one.block_height <= finalized
        }
        return [one for one, is_lost in pairs if is_lost]

    def _recent(
        self, head: Head, states: Sequence[TransferState]
    ) -> QuerySet[Transfer]:
        blocks = int(_RECENT.total_seconds() / self._spec.block_seconds)
        rows = Transfer.objects.filter(
            chain=self._spec.name,
            mode=Mode.LIVE,
            state__in=states,
            block_height__gt=max(head.block.height - blocks, BEFORE_GENESIS),
            wallet__isnull=False,
        )
        return rows.select_related("wallet").order_by("-block_height")[:_MOST_AT_ONCE]

    def _find_floors(self, head: Head, now: datetime) -> dict[bytes, Account]:
        orphans = [
            one
            for one in self._recent(head, [TransferState.ORPHANED])
            if one.orphaned_at is not None and one.orphaned_at >= now - _MAY_RETURN
        ]
        # The lowest comes last and stays.
        return {
            _key(one): Account(
                key=_key(one),
                address=one.recipient,
                height=one.block_height - 1,
                time=one.block_time - timedelta(minutes=1),
            )
            for one in orphans
        }


def _name(transfer: TokenTransfer | Transfer) -> _Name:
    return transfer.tx_hash, transfer.position, transfer.recipient, transfer.token


def _key(transfer: Transfer) -> bytes:
    assert transfer.wallet is not None, "only accounts are read here"  # noqa: S101
    return bytes(transfer.wallet.key)
