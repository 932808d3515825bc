"""Differences between two sources of a chain, recorded for the operator."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import structlog

from wallets.chains.base import PARTS_FROM
from wallets.models import SourceDifference, Transfer
from wallets.states import DifferenceKind
from wallets.transfers.service import NewTransfer

log = structlog.get_logger(__name__)

TransferKey = tuple[str, int, str, str]


def key_of(transfer: NewTransfer | Transfer) -> TransferKey:
    """Return the key of a transfer on its chain."""
    return transfer.tx_hash, transfer.position, transfer.recipient, transfer.token


def in_other_reading(told: Iterable[TransferKey], recorded: Iterable[TransferKey]) -> set[TransferKey]:
    """Return the transfers that are recorded otherwise: as a sum where these are its parts, or in parts where this is the sum."""
    known = {(name, to, what, at >= PARTS_FROM) for name, at, to, what in recorded}
    return {(name, at, to, what) for name, at, to, what in told if (name, to, what, at < PARTS_FROM) in known}


def note_differences(
    transfers: Sequence[NewTransfer | Transfer], *, kind: DifferenceKind, source: str, now: datetime
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
    transfer: NewTransfer | Transfer, *, kind: DifferenceKind, source: str, now: datetime
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
