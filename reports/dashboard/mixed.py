"""One list of several tables' rows, newest first: a page costs one index page of each table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from gateway.core.api.keyset import PAGE_ROWS, KeysetPage, page_ahead, page_behind

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# Microseconds until the year 5138, a bigint, and one of a few tables.
_PLACE: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,18})-([0-9])", re.ASCII)


class Source(NamedTuple):
    """A table's rows, and the field with their time."""

    found: QuerySet[Any]
    moment: str


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """A position in the list, in descending order; `table` counts the sources."""

    moment: datetime
    key: int
    table: int

    def __str__(self) -> str:
        micros = (self.moment - _EPOCH) // _MICROSECOND
        return f"{micros}-{self.key}-{self.table}"


def mixed_page(sources: Sequence[Source], query: Mapping[str, str], *, rows: int = PAGE_ROWS) -> KeysetPage[Any]:
    """Return the page for `before` or `after` of a query string. Other parameters are kept in the links.

    Each source is of another model.
    """
    before, after = _parse(query.get("before", "")), _parse(query.get("after", ""))
    asked, is_ahead = after or before, after is not None
    place_of = partial(_place, sources)
    found = [
        row
        for table, source in enumerate(sources)
        for row in _beside(source, table, asked, is_ahead=is_ahead)[: rows + 1]
    ]
    found.sort(key=place_of, reverse=not is_ahead)
    if is_ahead:
        return page_ahead(found, query, mark=place_of, rows=rows)
    is_first = before is None
    return page_behind(found, query, mark=place_of, rows=rows, is_first=is_first)


def _place(sources: Sequence[Source], row: Any) -> _Place:
    models = [source.found.model for source in sources]
    table = models.index(type(row))
    return _Place(getattr(row, sources[table].moment), row.pk, table)


def _beside(source: Source, table: int, place: _Place | None, *, is_ahead: bool) -> QuerySet[Any]:
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


def _parse(text: str) -> _Place | None:
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    return _Place(_EPOCH + int(match[1]) * _MICROSECOND, int(match[2]), int(match[3]))
