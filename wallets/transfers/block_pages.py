"""Pages of chain facts in block order: as fast at the end of the list as at its beginning.

Rows are of any model with a `block_time`; rows of one block are ordered by key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet

from gateway.core.api.keyset import PAGE_ROWS, KeysetPage, page_ahead, page_behind

M = TypeVar("M", bound=Model)

NEWEST_FIRST: Final = ("-block_time", "-pk")
_OLDEST_FIRST: Final = ("block_time", "pk")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# Microseconds until the year 5138, and a bigint.
_MARK: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A position in the list, valid even if its row is filtered out meanwhile."""

    moment: datetime
    key: int


def older_than(found: QuerySet[M], moment: datetime, key: int) -> QuerySet[M]:
    """Return the rows after a position.

    Written so that an index by block time starts at the row; only rows of the same moment are skipped.
    """
    behind = found.filter(block_time__lte=moment)
    return behind.exclude(block_time=moment, pk__gte=key)


def newer_than(found: QuerySet[M], moment: datetime, key: int) -> QuerySet[M]:
    """Return the rows before a position."""
    ahead = found.filter(block_time__gte=moment)
    return ahead.exclude(block_time=moment, pk__lte=key)


def newest_page(found: QuerySet[M], query: Mapping[str, str], *, rows: int = PAGE_ROWS) -> KeysetPage[M]:
    """Return the page for `before` or `after` of a query string. Other parameters are kept in the links."""
    before, after = _parse(query.get("before", "")), _parse(query.get("after", ""))
    if after is not None:
        ahead = newer_than(found, after.moment, after.key).order_by(*_OLDEST_FIRST)
        return page_ahead(ahead, query, mark=_mark, rows=rows)
    behind = older_than(found, before.moment, before.key) if before else found
    return page_behind(behind.order_by(*NEWEST_FIRST), query, mark=_mark, rows=rows, is_first=before is None)


def _parse(text: str) -> _Mark | None:
    match = _MARK.fullmatch(text)
    if match is None:
        return None
    return _Mark(_EPOCH + int(match[1]) * _MICROSECOND, int(match[2]))


def _mark(row: Any) -> str:
    micros = (row.block_time - _EPOCH) // _MICROSECOND
    return f"{micros}-{row.pk}"
