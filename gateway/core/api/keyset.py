"""Keyset pagination: each page begins after a row's key, so the last page is as fast as the first."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)

PAGE_ROWS: Final = 25
CHUNK_ROWS: Final = 1_000
_BIGINT_DIGITS: Final = 18
_MOVES: Final = {"before", "after"}


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[M]):
    """Rows, newest first, and the query strings of the pages before and after; empty at the ends."""

    rows: Sequence[M]
    newer: str
    older: str

    @property
    def is_first(self) -> bool:
        """Whether no newer rows exist."""
        return not self.newer


def keyset_page(found: QuerySet[M], query: Mapping[str, str], *, rows: int = PAGE_ROWS) -> KeysetPage[M]:
    """Return the page that `before` or `after` of a query string asks for: the primary key of the last row seen.

    Anything else in the query string is kept in the links.
    """
    before, after = _key(query.get("before", "")), _key(query.get("after", ""))
    mark = operator.attrgetter("pk")
    if after is not None:
        ahead = found.filter(pk__gt=after).order_by("pk")
        return page_ahead(ahead, query, mark=mark, rows=rows)
    behind = found.filter(pk__lt=before) if before is not None else found
    is_first = before is None
    return page_behind(behind.order_by("-pk"), query, mark=mark, rows=rows, is_first=is_first)


def page_behind(
    behind: QuerySet[M] | Sequence[M],
    query: Mapping[str, str],
    *,
    mark: Callable[[M], object],
    rows: int,
    is_first: bool,
) -> KeysetPage[M]:
    """Return the next page of older rows, newest first. `mark` returns a row's position; `is_first` says that no newer rows exist."""
    shown = list(behind[: rows + 1])
    has_older = len(shown) > rows
    return _page(shown[:rows], query, mark, has_newer=not is_first, has_older=has_older)


def page_ahead(
    ahead: QuerySet[M] | Sequence[M], query: Mapping[str, str], *, mark: Callable[[M], object], rows: int
) -> KeysetPage[M]:
    """Return the next page of newer rows, oldest first; `mark` returns a row's position."""
    shown = list(ahead[: rows + 1])
    has_newer = len(shown) > rows
    return _page(shown[:rows][::-1], query, mark, has_newer=has_newer, has_older=True)


def chunks_by_key(found: QuerySet[M]) -> Iterator[list[M]]:
    """Yield rows, newest first, in chunks: constant memory, and no transaction stays open.

    A cursor outside a transaction would make the database keep all rows meanwhile.
    """
    rest = found.order_by("-pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield chunk
        chunk = list(rest.filter(pk__lt=chunk[-1].pk)[:CHUNK_ROWS])


def _key(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= _BIGINT_DIGITS
    return int(text) if is_number else None


def _page(
    shown: Sequence[M], query: Mapping[str, str], mark: Callable[[M], object], *, has_newer: bool, has_older: bool
) -> KeysetPage[M]:
    if not shown:
        return KeysetPage([], "", "")
    kept = {name: value for name, value in query.items() if name not in _MOVES}
    return KeysetPage(
        shown,
        newer=urlencode(kept | {"after": mark(shown[0])}) if has_newer else "",
        older=urlencode(kept | {"before": mark(shown[-1])}) if has_older else "",
    )
