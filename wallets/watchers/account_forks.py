"""Follows reorgs on chains read by account: removed transactions are no longer listed, and may come back.

A fact that was not listed again is orphaned once every node says that it is lost. For ten minutes it is looked for again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from accounts.states import Mode
from wallets.chains.base import Account, AccountAdapter, AccountReading, ChainError, Head, TokenTransfer
from wallets.chains.family import ChainFamily, ChainSpec
from wallets.models import ReceivingWallet, Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState
from wallets.watchers.ingest import BEFORE_GENESIS
from wallets.watchers.owners import as_told, movement_as_told

log = structlog.get_logger(__name__)
# Nodes list a transaction again within a minute or two, so what is missing for longer has been checked already.
_RECENT: Final = timedelta(minutes=10)
# A transaction that a reorg removed can be mined again for a minute or two; then it expires.
_MAY_RETURN: Final = timedelta(minutes=10)
_MOST_AT_ONCE: Final = 2_000
# Watched-only facts must not take many requests from payments.
_MOST_MOVEMENTS: Final = 250

_Name = tuple[bytes, str, str, int, str]
_Wallet = ReceivingWallet | WatchedWallet

_FLOORS_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fact about an account: a payment, or a movement of a watched wallet."""

    fact: Transfer | WatchedMovement
    wallet: _Wallet

    @property
    def key(self) -> bytes:
        """Return the account's key."""
        return bytes(self.wallet.key)

    @property
    def name(self) -> _Name:
        """Return the fact's identity."""
        fact = self.fact
        way = fact.direction if isinstance(fact, WatchedMovement) else Direction.IN
        return self.key, way, fact.tx_hash, fact.position, fact.token

    def as_told(self, family: ChainFamily) -> TokenTransfer:
        """Return the fact as its chain reported it."""
        if isinstance(self.fact, WatchedMovement):
            return movement_as_told(self.fact, family)
        return as_told(self.fact, family)


class Trail:
    """Finds recent facts of one table that were not listed again, and asks nodes about each once after it is final."""

    def __init__(self, spec: ChainSpec, adapter: AccountAdapter, *, of_movements: bool) -> None:
        self._spec = spec
        self._adapter = adapter
        self._of_movements = of_movements
        self._most = _MOST_MOVEMENTS if of_movements else _MOST_AT_ONCE
        # Confirmed after finality: no reorg can remove them.
        self._settled: set[int] = set()

    def forget(self) -> None:
        """Reset to the initial state."""
        self._settled.clear()

    def look(self, readings: Sequence[AccountReading], *, head: Head) -> tuple[Sequence[Recorded], Sequence[Recorded]]:
        """Return facts that no node knows, and those that could not be checked, after accounts were read."""
        missing = self._missing(readings, head)
        if not missing or not head.agreed:
            return (), missing
        asked, left = missing[: self._most], missing[self._most :]
        try:
            return self._lost(asked), left
        except ChainError as error:
            log.warning("forks not followed", chain=self._spec.name, error=str(error))
            return (), missing

    def floors(self, head: Head, *, now: datetime) -> Iterator[Account]:
        """Yield the accounts of recently orphaned facts, each with the height to read again from, highest first."""
        for one in self._recent(head, [TransferState.ORPHANED]):
            fact = one.fact
            if fact.orphaned_at is None or fact.orphaned_at < now - _MAY_RETURN:
                continue
            time = fact.block_time - timedelta(minutes=1)
            yield Account(one.key, one.wallet.address, fact.block_height - 1, time)

    def _missing(self, readings: Sequence[AccountReading], head: Head) -> list[Recorded]:
        told = {name for reading in readings for name in _names(reading)}
        through = {reading.key: reading.through.height for reading in readings}
        found = self._recent(head, [TransferState.DETECTED, TransferState.CONFIRMED])
        # Drop facts that are no longer recent.
        self._settled &= {one.fact.pk for one in found}
        return [
            one
            for one in found
            if one.fact.pk not in self._settled
            and one.fact.block_height <= through.get(one.key, -1)
            and one.name not in told
        ]

    def _lost(self, missing: Sequence[Recorded]) -> list[Recorded]:
        finalized = self._adapter.finalized()
        answers = self._adapter.lost([one.as_told(self._spec.family) for one in missing])
        pairs = list(zip(missing, answers, strict=True))
        self._settled |= {one.fact.pk for one, is_lost in pairs if not is_lost and one.fact.block_height <= finalized}
        return [one for one, is_lost in pairs if is_lost]

    def _recent(self, head: Head, states: Sequence[TransferState]) -> list[Recorded]:
        blocks = int(_RECENT.total_seconds() / self._spec.block_seconds)
        wanted: Mapping[str, Any] = {
            "chain": self._spec.name,
            "mode": Mode.LIVE,
            "state__in": states,
            "block_height__gt": max(head.block.height - blocks, BEFORE_GENESIS),
        }
        return _movements(wanted) if self._of_movements else _payments(wanted)


def _payments(wanted: Mapping[str, Any]) -> list[Recorded]:
    rows = Transfer.objects.filter(wallet__isnull=False, **wanted)
    found = rows.select_related("wallet").order_by("-block_height")[:_MOST_AT_ONCE]
    return [Recorded(one, one.wallet) for one in found if one.wallet is not None]


def _movements(wanted: Mapping[str, Any]) -> list[Recorded]:
    rows = WatchedMovement.objects.filter(wallet__removed_at=None, **wanted)
    found = rows.select_related("wallet").order_by("-block_height")[:_MOST_AT_ONCE]
    return [Recorded(one, one.wallet) for one in found]


def _names(reading: AccountReading) -> Iterator[_Name]:
    for one in reading.transfers:
        if one.recipient_key == reading.key:
            yield reading.key, Direction.IN, one.tx_hash, one.position, one.token
        if one.sender_key == reading.key:
            yield reading.key, Direction.OUT, one.tx_hash, one.position, one.token


@dataclass(frozen=True, slots=True)
class MissingFacts:
    """Recorded facts that were not listed again: `lost` are unknown to all nodes, `unsure` could not be checked.

    `lost_moved` and `unsure_moved` are the same for movements of watched wallets.
    """

    lost: Sequence[Recorded] = ()
    unsure: Sequence[Recorded] = ()
    lost_moved: Sequence[Recorded] = ()
    unsure_moved: Sequence[Recorded] = ()

    def final_height(self, height: int) -> int:
        """Return up to where transfers may become final: `height`, or below the lowest one that could not be checked."""
        return _below(self.unsure, height)

    def final_moved_height(self, height: int) -> int:
        """Return up to where movements may become final; they never delay transfers."""
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

    def look(self, readings: Sequence[AccountReading], *, head: Head, now: datetime) -> MissingFacts:
        """Return the facts that are missing after these accounts were read."""
        if self._clock() >= self._floors_due:
            self._floors_due = self._clock() + _FLOORS_SECONDS
            self._floors = self._find_floors(head, now)
        return MissingFacts(*self._payments.look(readings, head=head), *self._movements.look(readings, head=head))

    def _find_floors(self, head: Head, now: datetime) -> dict[bytes, Account]:
        floors: dict[bytes, Account] = {}
        for trail in (self._payments, self._movements):
            for floor in trail.floors(head, now=now):
                known = floors.get(floor.key, floor)
                floors[floor.key] = min(floor, known, key=lambda one: one.height)
        return floors


def _below(unsure: Sequence[Recorded], height: int) -> int:
    return min([height, *(one.fact.block_height - 1 for one in unsure)])
