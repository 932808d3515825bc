"""Pages of a list by the key of the row they begin after: as quick on the last page as on the first."""

from collections.abc import Iterator, Mapping, Sequence
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
    """Rows, newest first, and the query strings of the pages beside them, empty at the ends."""

    rows: Sequence[M]
    newer: str
    older: str

    @property
    def is_first(self) -> bool:
        """Whether nothing is newer."""
        return not self.newer


def keyset_page(
    found: QuerySet[M], query: Mapping[str, str], *, rows: int = PAGE_ROWS
) -> KeysetPage[M]:
    """Return the page that `before` or `after` of a query string asks for: the primary key of the last row seen.

    Anything else in the query string is kept in the links.
    """
    before, after = _key(query.get("before", "")), _key(query.get("after", ""))
    if after is not None:
        shown = list(found.filter(pk__gt=after).order_by("pk")[: rows + 1])
        has_newer, has_older = len(shown) > rows, True
        shown = shown[:rows][::-1]
    else:
        older = found.filter(pk__lt=before) if before is not None else found
        shown = list(older.order_by("-pk")[: rows + 1])
        has_newer, has_older = before is not None, len(shown) > rows
        shown = shown[:rows]
    if not shown:
        return KeysetPage([], "", "")
    return KeysetPage(
        shown,
        newer=_link(query, "after", shown[0].pk) if has_newer else "",
        older=_link(query, "before", shown[-1].pk) if has_older else "",
    )


def chunks_by_key(found: QuerySet[M]) -> Iterator[list[M]]:
    """Walk rows, newest first, some at a time: any number in the same memory, and no transaction stays open.

    A cursor outside a transaction would have the database keep all of them meanwhile.
    """
    rest = found.order_by("-pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield chunk
        chunk = list(rest.filter(pk__lt=chunk[-1].pk)[:CHUNK_ROWS])


def _key(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= _BIGINT_DIGITS
    return int(text) if is_number else None


def _link(query: Mapping[str, str], move: str, key: int) -> str:
    kept = {name: value for name, value in query.items() if name not in _MOVES}
    return urlencode(kept | {move: str(key)})
