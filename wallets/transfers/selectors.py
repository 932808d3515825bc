"""Queries of chain facts: filters of query strings, pages in block order, and a watched wallet's movements."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from django.db.models import Model, QuerySet, Sum

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import refuse
from gateway.core.api.pagination import CHUNK_ROWS, Page, parse_text, parse_time
from wallets.models import WatchedDay, WatchedMovement, WatchedWallet
from wallets.networks import chains
from wallets.states import Direction

Query = Mapping[str, str]

M = TypeVar("M", bound=Model)

NEWEST_FIRST: Final = ("-block_time", "-pk")


def parse_chain(query: Query) -> str:
    """Read `chain`; empty for all of them."""
    name = parse_text(query, "chain") or ""
    if name and name not in chains():
        known = ", ".join(chains())
        raise refuse("chain", f"chain must be one of {known}.", "chain_unsupported")
    return name


def parse_token(query: Query, *, known: Collection[str]) -> str:
    """Read `token`, one of those in `known`; empty for all of them."""
    symbol = parse_text(query, "token") or ""
    if symbol and symbol not in known:
        names = ", ".join(known)
        raise refuse("token", f"token must be one of {names}.", "token_unsupported")
    return symbol


def parse_direction(query: Query) -> Direction | None:
    """Read `direction`; None for both."""
    name = parse_text(query, "direction")
    if name is None:
        return None
    if name not in Direction.values:
        raise refuse("direction", "direction must be in or out.")
    return Direction(name)


def parse_span(query: Query) -> tuple[datetime | None, datetime | None]:
    """Read `from` (inclusive) and `to` (exclusive); None for no bound."""
    since, until = parse_time(query, "from"), parse_time(query, "to")
    if since is not None and until is not None and since > until:
        raise refuse("to", "to must not be before from.")
    return since, until


def older_than(found: QuerySet[M], moment: datetime, key: int) -> QuerySet[M]:
    """Return the rows after a position.

    Written so that an index by block time starts at the row; only rows of the same moment are skipped.
    """
    behind = found.filter(block_time__lte=moment)
    return behind.exclude(block_time=moment, pk__gte=key)


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
        last = _named_movement(wallet, page.starting_after)
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


def _named_movement(wallet: WatchedWallet, public_id: str) -> WatchedMovement:
    mine = WatchedMovement.objects.filter(wallet=wallet)
    found = mine.filter(public_id=public_id).first()
    if found is None:
        raise InvalidRequestError("starting_after names no movement of this wallet.", param="starting_after")
    return found
