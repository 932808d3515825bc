"""Queries of a watched wallet's movements: a page, all in chunks, the total."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Sum

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.keyset import CHUNK_ROWS
from gateway.core.api.pagination import Page
from wallets.models import WatchedDay, WatchedMovement, WatchedWallet
from wallets.states import Direction
from wallets.transfers.block_pages import NEWEST_FIRST, older_than


@dataclass(frozen=True, slots=True)
class MovementFilter:
    """Filters of a wallet's movements, by block time: `since` <= time < `until`.

    Empty texts and None exclude nothing.
    """

    token: str = ""
    direction: Direction | None = None
    since: datetime | None = None
    until: datetime | None = None


def movements_wanted(wallet: WatchedWallet, wanted: MovementFilter) -> QuerySet[WatchedMovement]:
    """Return the movements that match a filter, including those that a reorg removed."""
    found = WatchedMovement.objects.filter(wallet=wallet)
    if wanted.token:
        found = found.filter(token=wanted.token)
    if wanted.direction is not None:
        found = found.filter(direction=wanted.direction)
    if wanted.since is not None:
        found = found.filter(block_time__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(block_time__lt=wanted.until)
    return found


def movement_page(wallet: WatchedWallet, wanted: MovementFilter, page: Page) -> list[WatchedMovement]:
    """Return a page of movements, newest first. Raises InvalidRequestError for an unknown starting_after."""
    found, offset = movements_wanted(wallet, wanted), page.offset
    if page.starting_after is not None:
        last = _named(wallet, page.starting_after)
        found, offset = older_than(found, last.block_time, last.pk), 0
    return list(found.order_by(*NEWEST_FIRST)[offset : offset + page.limit])


def movement_rows(wallet: WatchedWallet, wanted: MovementFilter) -> Iterator[WatchedMovement]:
    """Yield all movements, newest first, in chunks by key: constant memory, no transaction stays open."""
    found = rest = movements_wanted(wallet, wanted)
    while chunk := list(rest.order_by(*NEWEST_FIRST)[:CHUNK_ROWS]):
        yield from chunk
        rest = older_than(found, chunk[-1].block_time, chunk[-1].pk)


def movement_total(wallet: WatchedWallet, wanted: MovementFilter) -> int:
    """Count the movements of a filter; without times from daily totals, as fast for a million as for ten."""
    if wanted.since is not None or wanted.until is not None:
        return movements_wanted(wallet, wanted).count()
    days = WatchedDay.objects.filter(wallet=wallet)
    if wanted.token:
        days = days.filter(token=wanted.token)
    if wanted.direction is not None:
        days = days.filter(direction=wanted.direction)
    return int(days.aggregate(total=Sum("count"))["total"] or 0)


def _named(wallet: WatchedWallet, public_id: str) -> WatchedMovement:
    mine = WatchedMovement.objects.filter(wallet=wallet)
    found = mine.filter(public_id=public_id).first()
    if found is None:
        raise InvalidRequestError("starting_after names no movement of this wallet.", param="starting_after")
    return found
