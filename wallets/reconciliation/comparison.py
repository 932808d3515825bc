"""Compares the last hour's recorded transfers with one source of a chain.

Transfers that only the source knows are recorded like any others. Those that only we know are reported to the operator and
stay. Only final blocks are compared, and only with a source that has the same last block.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Q

from accounts.states import Mode
from wallets.chains.base import PARTS_FROM, Account, BlockRef, ChainAdapter, Hint, TokenTransfer
from wallets.chains.family import ChainSpec
from wallets.models import AccountCursor, Block, ChainCursor, ReceivingWallet, SourceDifference, Transfer
from wallets.reconciliation.sources import AccountNode, BlockNode, Ledger
from wallets.selectors import watched_keys
from wallets.states import DifferenceKind, TransferState
from wallets.transfers.movements import NewMovement, record_missed, record_movements
from wallets.transfers.service import NewTransfer
from wallets.watchers.blocks import stored_hash
from wallets.watchers.leases import LeaseLostError, is_held
from wallets.watchers.owners import Owners

log = structlog.get_logger(__name__)

SPAN: Final = timedelta(hours=1)
"""How far back every pass compares."""

LONGEST_SPAN: Final = timedelta(days=1)
"""How far back an account that had to wait for its turn is compared."""

_OVERLAP: Final = timedelta(minutes=10)

_COMPARED_FIELDS: Final = ("chain", "tx_hash", "position", "recipient", "token", "units", "block_height", "block_time")

TransferKey = tuple[str, int, str, str]
"""A transfer's transaction, position, recipient and token, which identify it on its chain."""


class SourceDisagreesError(Exception):
    """A source serves another chain, or another block where ours is final. Nothing from it was used."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How many transfers only the source knew, and how many only we knew."""

    missed: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class ComparedRange:
    """The range requested from a source: the blocks from `first` to `last`, and the accounts (None for all).

    `since` leaves out older transfers, for sources that count time as well. `end` is our last block, if blocks are
    compared.
    """

    first: int
    last: int
    keys: Collection[bytes] | None = None
    since: datetime | None = None
    end: BlockRef | None = None

    def holds(self, transfer: TokenTransfer | Transfer) -> bool:
        """Return whether a transfer lies in the scope's blocks and time."""
        if not self.first <= transfer.block_height <= self.last:
            return False
        return self.since is None or transfer.block_time > self.since


def check_identity(spec: ChainSpec, adapter: ChainAdapter) -> None:
    """Raise SourceDisagreesError for a source that serves another chain than the one that was read."""
    known = ChainCursor.objects.get(chain=spec.name).genesis_hash
    if known and adapter.genesis() != known:
        raise SourceDisagreesError("it serves another chain")


def compare_node(
    spec: ChainSpec, node: BlockNode, *, owner: str, read_through: int | None, now: datetime
) -> tuple[Compared, int | None]:
    """Compare the last hour of final blocks with one node's; return the result, and the last block compared.

    With too many watched addresses to name, every transfer of the token is read: then only blocks after `read_through`, the
    last one this node was asked for. Raises ChainError, SourceDisagreesError, LeaseLostError.
    """
    cursor = ChainCursor.objects.get(chain=spec.name)
    if cursor.height is None:
        return Compared(), read_through
    head = node.adapter.head()
    read = min(cursor.height, head.block.height)
    final = min(read, node.adapter.final_height(head, read_height=read))
    end = _end_block(spec, node, final)
    if end is None:
        return Compared(), read_through
    first = _first_height(spec, cursor, end)
    watched = watched_keys(spec.name)
    # Only payments are compared.
    hint = watched and Hint(watched.recipients)
    if hint is None and read_through is not None:
        first = max(first, read_through + 1)
    told = node.transfers(first, end, head=head, hint=hint, ours=Owners(spec.name).ours)
    scope = ComparedRange(first, end.height, end=end)
    return settle(spec, told, scope=scope, source=node.label, owner=owner, now=now), end.height


def compare_ledger(
    spec: ChainSpec, ledger: Ledger, node: BlockNode, *, keys: Collection[bytes], owner: str, now: datetime
) -> Compared:
    """Compare some accounts' last hour with a source other than a node; `node` supplies the blocks' times.

    Raises ChainError, SourceDisagreesError, LeaseLostError.
    """
    cursor = ChainCursor.objects.get(chain=spec.name)
    if cursor.height is None:
        return Compared()
    head = node.adapter.head()
    read = min(cursor.height, head.block.height)
    final = min(read, node.adapter.final_height(head, read_height=read))
    end = _end_block(spec, node, final)
    if end is None:
        return Compared()
    [first] = node.adapter.blocks([_first_height(spec, cursor, end)])
    told = ledger.transfers(keys, first, end)
    scope = ComparedRange(first.height, end.height, keys=keys, end=end)
    return settle(spec, told, scope=scope, source=ledger.label, owner=owner, now=now)


def compare_accounts(
    spec: ChainSpec,
    node: AccountNode,
    *,
    keys: Collection[bytes],
    last_turns: Mapping[bytes, datetime],
    owner: str,
    now: datetime,
) -> Compared:
    """Compare some accounts' last hour with one node's, each up to where it was read and final.

    An account whose last turn with this node is longer ago is compared from a little before that. Raises ChainError, LeaseLostError.
    """
    rows = AccountCursor.objects.filter(chain=spec.name, key__in=list(keys), height__isnull=False)
    cursors = list(rows)
    if not cursors:
        return Compared()
    begun = ChainCursor.objects.get(chain=spec.name).first_height or 0
    head, final = node.adapter.head(), node.adapter.finalized()
    accounts = [_some_time_ago(spec, cursor, last_turns.get(bytes(cursor.key)), now) for cursor in cursors]
    readings = node.adapter.read_accounts(accounts, head=head)
    found = []
    for cursor, account, reading in zip(cursors, accounts, readings, strict=True):
        scope = ComparedRange(
            max(account.height + 1, begun),
            min(cursor.height or 0, reading.through.height, final),
            keys={account.key},
            since=account.time,
        )
        # Only payments are compared.
        told = [one for one in reading.transfers if one.recipient_key == account.key]
        found.append(settle(spec, told, scope=scope, source=node.label, owner=owner, now=now))
    return Compared(sum(c.missed for c in found), sum(c.unknown for c in found))


def _some_time_ago(spec: ChainSpec, cursor: AccountCursor, last_turn: datetime | None, now: datetime) -> Account:
    since_last = now - last_turn + _OVERLAP if last_turn is not None else SPAN
    span = min(max(SPAN, since_last), LONGEST_SPAN)
    blocks = int(span.total_seconds() / spec.block_seconds)
    return Account(
        key=bytes(cursor.key),
        address=cursor.address,
        height=max((cursor.height or 0) - blocks, 0),
        time=(cursor.height_time or now) - span,
    )


def settle(
    spec: ChainSpec, told: Sequence[TokenTransfer], *, scope: ComparedRange, source: str, owner: str, now: datetime
) -> Compared:
    """Record transfers that only a source knew, and every difference.

    Raises LeaseLostError if `owner` lost the chain's lease, SourceDisagreesError if the chain forked meanwhile.
    """
    owners = Owners(spec.name)
    theirs = [transfer for transfer in told if scope.holds(transfer)]
    owned = owners.payments(theirs)
    known = {key_of(transfer): transfer for transfer in since_given(owned)}
    with transaction.atomic():
        if not is_held(spec.name, owner):
            raise LeaseLostError(spec.name)
        if scope.end and stored_hash(spec.name, scope.last) != scope.end.hash:
            raise SourceDisagreesError("the chain forked while it was compared")
        recorded = {key_of(one): one for one in _recorded(spec, scope)}
        same = in_other_reading(known, recorded) | in_other_reading(recorded, known)
        missed = [one for key, one in known.items() if key not in recorded and key not in same]
        # Sources may list others at intervals, or not at all.
        accepted = {token.symbol for token in spec.machine_tokens}
        unknown = [
            one
            for key, one in recorded.items()
            if one.token in accepted and key not in same and (key not in known or known[key].units != one.units)
        ]
        record_missed(missed, now=now)
        if scope.end:
            # On chains read by account, each side of a movement has its own name.
            record_movements(_moved(owners, theirs, missed), now=now)
        for kind, ones in _by_kind(missed, unknown):
            note_differences(ones, kind=kind, source=source, now=now)
        close_known(spec.name, known, source=source, now=now)
    return Compared(len(missed), len(unknown))


def _moved(owners: Owners, told: Sequence[TokenTransfer], missed: Sequence[NewTransfer]) -> list[NewMovement]:
    """Return the missed payments' movements of watched wallets."""
    names = {(one.tx_hash, one.position) for one in missed}
    return owners.movements(one for one in told if (one.tx_hash, one.position) in names)


def _by_kind(
    missed: Sequence[NewTransfer], unknown: Sequence[Transfer]
) -> Iterable[tuple[DifferenceKind, Sequence[NewTransfer | Transfer]]]:
    return (DifferenceKind.MISSED, missed), (DifferenceKind.UNKNOWN, unknown)


def since_given(transfers: Sequence[NewTransfer]) -> list[NewTransfer]:
    """Leave out transfers to a merchant's wallet from before it was set.

    A wallet that was replaced and set again, or moved to another merchant, has several rows: each transfer is of the one set
    before it.
    """
    ids = {one.wallet_id for one in transfers if one.wallet_id is not None}
    rows = ReceivingWallet.objects.filter(pk__in=ids)
    given = dict(rows.values_list("pk", "created_at")) if ids else {}

    def is_early(one: NewTransfer) -> bool:
        return one.wallet_id is not None and one.block_time < given[one.wallet_id]

    wallets = _wallets_of([one for one in transfers if is_early(one)])
    owned = (_as_of_then(one, wallets) if is_early(one) else one for one in transfers)
    return [one for one in owned if one is not None]


def _wallets_of(transfers: Sequence[NewTransfer]) -> list[ReceivingWallet]:
    """Return all rows of the wallets that transfers went to, the last set first."""
    if not transfers:
        return []
    places = Q(chain__in={one.chain for one in transfers}, address__in={one.recipient for one in transfers})
    return list(ReceivingWallet.objects.filter(places).order_by("-created_at", "-pk"))


def _as_of_then(transfer: NewTransfer, wallets: Iterable[ReceivingWallet]) -> NewTransfer | None:
    """Return a transfer as that of the wallet's owner at its time; None before the first one."""
    place = (transfer.chain, transfer.recipient)
    for wallet in wallets:
        if (wallet.chain, wallet.address) == place and wallet.created_at <= transfer.block_time:
            return replace(transfer, wallet_id=wallet.pk, merchant_id=wallet.merchant_id, purpose=wallet.purpose)
    return None


def _recorded(spec: ChainSpec, scope: ComparedRange) -> list[Transfer]:
    rows = Transfer.objects.filter(
        chain=spec.name, mode=Mode.LIVE, block_height__gte=scope.first, block_height__lte=scope.last
    ).exclude(state=TransferState.ORPHANED)
    rows = rows.only(*_COMPARED_FIELDS)
    return [one for one in rows if scope.holds(one) and (scope.keys is None or _key(one.recipient, spec) in scope.keys)]


def _key(address: str, spec: ChainSpec) -> bytes:
    return spec.family.address_key(address)


def _end_block(spec: ChainSpec, node: BlockNode, final: int) -> BlockRef | None:
    """Return the newest final block with a stored hash; None if there is none."""
    ours = Block.objects.filter(chain=spec.name, height__lte=final).order_by("-height").first()
    if ours is None:
        return None
    [theirs] = node.adapter.blocks([ours.height])
    if theirs.hash != ours.hash:
        raise SourceDisagreesError(f"it has another block at height {ours.height}")
    return theirs


def _first_height(spec: ChainSpec, cursor: ChainCursor, end: BlockRef) -> int:
    blocks = int(SPAN.total_seconds() / spec.block_seconds)
    oldest = cursor.first_height
    if oldest is None:
        # Read before this was recorded: the oldest known block was certainly read.
        kept = Block.objects.filter(chain=spec.name).order_by("height").first()
        oldest = kept.height if kept else end.height
    return min(max(end.height - blocks + 1, oldest), end.height)


def key_of(transfer: NewTransfer | Transfer | TokenTransfer) -> TransferKey:
    """Return the key of a transfer on its chain."""
    return transfer.tx_hash, transfer.position, transfer.recipient, transfer.token


def in_other_reading(told: Iterable[TransferKey], recorded: Iterable[TransferKey]) -> set[TransferKey]:
    """Return the transfers that are recorded otherwise: as a sum where these are its parts, or in parts where this is the sum."""
    known = {(name, to, what, at >= PARTS_FROM) for name, at, to, what in recorded}
    return {(name, at, to, what) for name, at, to, what in told if (name, to, what, at < PARTS_FROM) in known}


def note_differences(
    transfers: Sequence[NewTransfer | Transfer | TokenTransfer], *, kind: DifferenceKind, source: str, now: datetime
) -> None:
    """Record, once each, transfers that one source knows and another does not; `source` is a node's label."""
    told = {key_of(transfer): transfer for transfer in transfers}
    known = SourceDifference.objects.filter(
        chain__in={transfer.chain for transfer in transfers},
        kind=kind,
        tx_hash__in={transfer.tx_hash for transfer in transfers},
    )
    for key in known.values_list("tx_hash", "position", "recipient", "token"):
        told.pop(key, None)
    rows = [_difference(one, kind=kind, source=source, now=now) for one in told.values()]
    SourceDifference.objects.bulk_create(rows, ignore_conflicts=True)
    for row in rows:
        log.error("sources differ", what=str(row), source=row.source)


def _difference(
    transfer: NewTransfer | Transfer | TokenTransfer, *, kind: DifferenceKind, source: str, now: datetime
) -> SourceDifference:
    return SourceDifference(
        chain=transfer.chain,
        kind=kind,
        tx_hash=transfer.tx_hash,
        position=transfer.position,
        recipient=transfer.recipient,
        token=transfer.token,
        units=transfer.units,
        block_height=transfer.block_height,
        source=source[:120],
        found_at=now,
    )


def close_known(chain: str, known: Collection[TransferKey], *, source: str, now: datetime) -> None:
    """Close differences that a source has resolved: it was only late."""
    late = SourceDifference.objects.filter(
        chain=chain, kind=DifferenceKind.UNKNOWN, source=source[:120], closed_at=None
    )
    for row in late:
        if (row.tx_hash, row.position, row.recipient, row.token) in known:
            row.closed_at = now
            row.save(update_fields=["closed_at"])


def open_differences() -> list[SourceDifference]:
    """Return open differences, oldest first."""
    rows = SourceDifference.objects.filter(closed_at=None)
    return list(rows.order_by("found_at", "pk"))


def close_differences(ids: Collection[int], *, now: datetime) -> int:
    """Close these differences; return how many were open."""
    rows = SourceDifference.objects.filter(pk__in=ids, closed_at=None)
    return rows.update(closed_at=now)
