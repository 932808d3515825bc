"""Rereads transactions that were looked up but no watcher recorded, although their blocks were read.

The look-up only records a difference between two sources, which operators see as well. The chain's reading process finds
it, asks its own nodes, and records the transfers under its lease.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import QuerySet

from wallets.chains.base import FoundTransaction
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.models import AccountCursor, ChainCursor, SourceDifference, Transfer
from wallets.networks import chain_spec, reads_accounts
from wallets.reconciliation.comparison import check_identity, in_other_reading, key_of, note_differences, since_given
from wallets.states import DifferenceKind, TransferState
from wallets.transfers.movements import record_missed
from wallets.transfers.service import NewTransfer
from wallets.watchers.blocks import stored_hash
from wallets.watchers.leases import LeaseLostError, is_held
from wallets.watchers.owners import Owners

log = structlog.get_logger(__name__)

NAMED: Final = "named by somebody, not read again yet"
"""The `source` of a difference that waits to be read again."""

OLDEST: Final = timedelta(days=30)
"""Older ones are for an operator to read again, with `manage.py chains --rescan`."""

MOST_AN_HOUR: Final = 20
"""How many transactions of one chain are noted per hour: more would mean an outage, which needs a rescan."""

READ_AGAIN: Final = "named by somebody, read again"
"""The `source` of one that was read again."""

_HOUR: Final = timedelta(hours=1)
_PATIENCE: Final = timedelta(days=1)
_LOOK_SECONDS: Final = 5.0
_REST_SECONDS: Final = 60.0


def ask_again(found: FoundTransaction, *, now: datetime) -> bool:
    """Request another reading of a missed transaction that pays us; return whether that was requested now.

    That is for a final one, of the last thirty days, in a block that was read; each is asked for once, and not more than
    MOST_AN_HOUR of a chain. Transfers that no watcher records are excluded: payments to a merchant's wallet before it was set,
    payments from our own deposit addresses, and unlisted tokens.
    """
    if not (found.succeeded and found.is_final):
        return False
    payments = [one for one in _payments(found) if one.block_time >= now - OLDEST]
    missed = [one for one in _unrecorded(found.chain, payments) if _was_read(one)]
    if not missed or _noted_since(found.chain, now - _HOUR) >= MOST_AN_HOUR:
        return False
    before = _notes(found.chain).count()
    note_differences(missed, kind=DifferenceKind.MISSED, source=NAMED, now=now)
    return _notes(found.chain).count() > before


def _payments(found: FoundTransaction) -> list[NewTransfer]:
    """Return the transfers that a watcher would record."""
    owners = Owners(found.chain)
    ours = owners.ours({one.recipient_key for one in found.transfers})
    paid = [one for one in found.transfers if one.recipient_key in ours]
    return since_given(owners.payments(paid))


def _unrecorded(chain: str, payments: Sequence[NewTransfer]) -> list[NewTransfer]:
    rows = Transfer.objects.filter(chain=chain, tx_hash__in={one.tx_hash for one in payments})
    known = {key_of(row): row.state for row in rows}
    standing = [key for key, state in known.items() if state != TransferState.ORPHANED]
    same = in_other_reading(map(key_of, payments), standing)
    return [one for one in payments if key_of(one) not in {*known, *same}]


def _was_read(payment: NewTransfer) -> bool:
    """Whether a watcher has read its block, and the chain does not wait for a person."""
    cursor = ChainCursor.objects.filter(chain=payment.chain, halted_reason="").first()
    if cursor is None or cursor.first_height is None or cursor.height is None:
        return False
    through: int | None = cursor.height
    if reads_accounts(chain_spec(payment.chain)):
        rows = AccountCursor.objects.filter(chain=payment.chain, address=payment.recipient)
        through = rows.values_list("height", flat=True).first()
    return through is not None and cursor.first_height <= payment.block_height <= through


def _notes(chain: str) -> QuerySet[SourceDifference]:
    return SourceDifference.objects.filter(chain=chain, kind=DifferenceKind.MISSED, source=NAMED, closed_at=None)


def _noted_since(chain: str, moment: datetime) -> int:
    """Return how many were noted, including those read again since."""
    rows = SourceDifference.objects.filter(chain=chain, kind=DifferenceKind.MISSED, found_at__gt=moment)
    return rows.filter(source__in=(NAMED, READ_AGAIN)).count()


class MissedTransfers:
    """Reads noted transactions of one chain again, one at a time, while `owner` has its lease."""

    def __init__(self, spec: ChainSpec, *, owner: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._spec = spec
        self._owner = owner
        self._clock = clock
        self._chain = spec.family.open_adapter(spec, open_pool(spec))
        self._due = 0.0

    def tick(self, *, now: datetime) -> int:
        """Read the oldest one again, if any; return how many transfers were new. Raises ChainError, LeaseLostError."""
        if self._clock() < self._due:
            return 0
        self._due = self._clock() + _LOOK_SECONDS
        note = self._oldest(now)
        if note is None or not self._is_reader():
            return 0
        # Unless it succeeds: a failing node is not asked again at once.
        self._due = self._clock() + _REST_SECONDS
        check_identity(self._spec, self._chain)
        found = self._chain.find(note.tx_hash)
        if found is not None and found.succeeded and not found.is_final:
            return 0
        new = self._record(note, found, now=now)
        self._due = 0.0
        return new

    def close(self) -> None:
        """Close the connections to the nodes."""
        self._chain.close()

    def _oldest(self, now: datetime) -> SourceDifference | None:
        rows = _notes(self._spec.name).filter(found_at__gt=now - _PATIENCE)
        return rows.order_by("found_at", "pk").first()

    def _is_reader(self) -> bool:
        with transaction.atomic():
            return is_held(self._spec.name, self._owner)

    def _record(self, note: SourceDifference, found: FoundTransaction | None, *, now: datetime) -> int:
        """Write the nodes' answer about the transaction. The notes stay for the operator, unless they were wrong."""
        payments = _payments(found) if found is not None else []
        named = [one for one in payments if one.tx_hash == note.tx_hash]
        with transaction.atomic():
            if not is_held(self._spec.name, self._owner):
                raise LeaseLostError(self._spec.name)
            ready = [one for one in named if _was_read(one) and self._fits(one)]
            new = len(record_missed(_unrecorded(self._spec.name, ready), now=now))
            rows = _notes(self._spec.name).filter(tx_hash=note.tx_hash)
            rows.update(source=READ_AGAIN, closed_at=None if ready else now)
        if new:
            log.error("transfers were missed", chain=self._spec.name, count=new)
        return new

    def _fits(self, payment: NewTransfer) -> bool:
        """Return whether its block is the one that we read at that height, if its hash is still stored."""
        known = stored_hash(self._spec.name, payment.block_height)
        return known in {None, payment.block_hash}
