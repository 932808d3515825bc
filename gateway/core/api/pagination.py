"""Pages of lists: the query string, `{data, total, limit, offset}`, and keyset pages, the last as fast as the first."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import check_characters

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
# No list is this deep: a larger offset is a mistake or an attack.
MAX_OFFSET = 2**31 - 1
FORMATS = ("json", "csv")

M = TypeVar("M", bound=Model)
R = TypeVar("R")

PAGE_ROWS: Final = 25
CHUNK_ROWS: Final = 1_000
_BIGINT_DIGITS: Final = 18
_MOVES: Final = {"before", "after"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# Microseconds until the year 5138, a bigint, and one of a few tables if there are several.
_PLACE: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,18})(?:-([0-9]))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """The requested part of a list. `starting_after` pages by key instead of by offset."""

    limit: int
    offset: int
    starting_after: str | None
    include_total: bool


def parse_page(query: Mapping[str, str]) -> Page:
    """Read limit, offset, starting_after and include_total. Raises InvalidRequestError."""
    return Page(
        limit=_integer(query, "limit", default=DEFAULT_LIMIT, low=1, high=MAX_LIMIT),
        offset=_integer(query, "offset", default=0, low=0, high=MAX_OFFSET),
        starting_after=parse_text(query, "starting_after"),
        include_total=_flag(query, "include_total", default=True),
    )


def parse_text(query: Mapping[str, str], name: str) -> str | None:
    """Read a search text; None where it is absent or empty. Raises InvalidRequestError."""
    text = query.get(name) or None
    if text is not None:
        check_characters(text, name)
    return text


def parse_time(query: Mapping[str, str], name: str) -> datetime | None:
    """Read an ISO 8601 time; one without an offset is UTC. Raises InvalidRequestError."""
    text = parse_text(query, name)
    if text is None:
        return None
    try:
        # A plus sign in a query string arrives as a space unless the client encoded it.
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRequestError(f"{name} must be an ISO 8601 time.", param=name) from error


def list_body(data: list[Any], page: Page, total: int | None) -> dict[str, Any]:
    """Return the list envelope; `total` is left out if the caller asked for that."""
    body: dict[str, Any] = {"data": data}
    if total is not None:
        body["total"] = total
    return body | {"limit": page.limit, "offset": page.offset}


def _integer(query: Mapping[str, str], name: str, *, default: int, low: int, high: int) -> int:
    text = query.get(name)
    if not text:
        return default
    digits = text if text.isascii() and text.isdigit() and len(text) <= 10 else ""
    if not digits or not low <= int(digits) <= high:
        raise InvalidRequestError(f"{name} must be a whole number from {low} to {high}.", param=name)
    return int(digits)


def _flag(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = query.get(name)
    if not text:
        return default
    if text not in {"true", "false"}:
        raise InvalidRequestError(f"{name} must be true or false.", param=name)
    return text == "true"


def parse_format(query: Mapping[str, str]) -> str:
    """Parse whether a list or a file is wanted. Raises InvalidRequestError."""
    wanted = parse_text(query, "format") or FORMATS[0]
    if wanted not in FORMATS:
        raise InvalidRequestError("format must be json or csv.", param="format")
    return wanted


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[R]):
    """Rows, newest first, and the query strings of the pages before and after; empty at the ends."""

    rows: Sequence[R]
    newer: str
    older: str

    @property
    def is_first(self) -> bool:
        """Whether no newer rows exist."""
        return not self.newer


def keyset_page(
    found: QuerySet[M], query: Mapping[str, str], *, by: str = "pk", rows: int = PAGE_ROWS
) -> KeysetPage[M]:
    """Return the page that `before` or `after` of a query string asks for: the last row seen, by a field that grows.

    Anything else in the query string is kept in the links.
    """
    before, after = _key(query.get("before", "")), _key(query.get("after", ""))
    mark = operator.attrgetter(by)
    if after is not None:
        ahead = found.filter(**{f"{by}__gt": after}).order_by(by)
        return page_ahead(ahead, query, mark=mark, rows=rows)
    behind = found.filter(**{f"{by}__lt": before}) if before is not None else found
    is_first = before is None
    return page_behind(behind.order_by(f"-{by}"), query, mark=mark, rows=rows, is_first=is_first)


class TimedRows(NamedTuple):
    """A table's rows, and the field with their time."""

    found: QuerySet[Any]
    moment: str


@dataclass(frozen=True, slots=True, order=True)
class _RowPosition:
    """A position among the rows of some tables, in descending order; `table` counts the sources.

    It is valid even if its row is filtered out meanwhile.
    """

    moment: datetime
    key: int
    table: int


def page_by_time(sources: Sequence[TimedRows], query: Mapping[str, str], *, rows: int = PAGE_ROWS) -> KeysetPage[Any]:
    """Return the page, newest first, of one table or of several as one list, for `before` or `after` of a query string.

    Other parameters are kept in the links. Each source is of another model.
    """
    before, after = (_parse_place(query.get(move, ""), len(sources)) for move in ("before", "after"))
    asked, is_ahead = after or before, after is not None
    found = [
        row
        for table, source in enumerate(sources)
        for row in _beside(source, table, asked, is_ahead=is_ahead)[: rows + 1]
    ]
    found.sort(key=partial(_place, sources), reverse=not is_ahead)
    mark = partial(_mark, sources)
    if is_ahead:
        return page_ahead(found, query, mark=mark, rows=rows)
    return page_behind(found, query, mark=mark, rows=rows, is_first=before is None)


def _place(sources: Sequence[TimedRows], row: Any) -> _RowPosition:
    table = [source.found.model for source in sources].index(type(row))
    return _RowPosition(getattr(row, sources[table].moment), row.pk, table)


def _mark(sources: Sequence[TimedRows], row: Any) -> str:
    place = _place(sources, row)
    parts = ((place.moment - _EPOCH) // _MICROSECOND, place.key, place.table)
    return "-".join(map(str, parts if len(sources) > 1 else parts[:2]))


def _parse_place(text: str, sources: int) -> _RowPosition | None:
    match = _PLACE.fullmatch(text)
    if match is None or (match[3] is None) != (sources == 1):
        return None
    return _RowPosition(_EPOCH + int(match[1]) * _MICROSECOND, int(match[2]), int(match[3] or 0))


def _beside(source: TimedRows, table: int, place: _RowPosition | None, *, is_ahead: bool) -> QuerySet[Any]:
    """Return the rows before or after a position.

    Written so that an index by time starts at the position, and only rows of the same moment are skipped.
    """
    found, by = source
    order = (by, "pk") if is_ahead else (f"-{by}", "-pk")
    if place is None:
        return found.order_by(*order)
    if is_ahead:
        # With equal moment and key, the greater table's row comes first.
        passed = {"pk__lte" if table <= place.table else "pk__lt": place.key}
        beside = found.filter(**{f"{by}__gte": place.moment})
    else:
        passed = {"pk__gte" if table >= place.table else "pk__gt": place.key}
        beside = found.filter(**{f"{by}__lte": place.moment})
    return beside.exclude(**{by: place.moment}, **passed).order_by(*order)


def page_behind(
    behind: QuerySet[M] | Sequence[M],
    query: Mapping[str, str],
    *,
    mark: Callable[[M], object],
    rows: int,
    is_first: bool,
) -> KeysetPage[M]:
    """Return the next page of older rows, newest first.

    `mark` returns a row's position; `is_first` says that no newer rows exist.
    """
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
