"""Pages of transfers in the order of their blocks: as quick on the last page as on the first."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.db.models import QuerySet

from gateway.core.keyset import PAGE_ROWS, KeysetPage
from reports.selectors import NEWEST_FIRST, newer_than, older_than
from wallets.models import Transfer

OLDEST_FIRST: Final = ("block_time", "pk")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOVES: Final = {"before", "after"}
# Microseconds until the year 5138, and a bigint.
_MARK: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A place in the list, which stays one when its transfer is filtered out meanwhile."""

    moment: datetime
    key: int


def newest_page(
    found: QuerySet[Transfer], query: Mapping[str, str], *, rows: int = PAGE_ROWS
) -> KeysetPage[Transfer]:
    """Return the page that `before` or `after` of a query string asks for. Anything else in it is kept in the links."""
    before, after = _mark(query.get("before", "")), _mark(query.get("after", ""))
    if after is not None:
        ahead = newer_than(found, after.moment, after.key)
        shown = list(ahead.order_by(*OLDEST_FIRST)[: rows + 1])
        has_newer, has_older = len(shown) > rows, True
        shown = shown[:rows][::-1]
    else:
        behind = older_than(found, before.moment, before.key) if before else found
        shown = list(behind.order_by(*NEWEST_FIRST)[: rows + 1])
        has_newer, has_older = before is not None, len(shown) > rows
        shown = shown[:rows]
    if not shown:
        return KeysetPage([], "", "")
    return KeysetPage(
        shown,
        newer=_link(query, "after", shown[0]) if has_newer else "",
        older=_link(query, "before", shown[-1]) if has_older else "",
    )


def _mark(text: str) -> _Mark | None:
    match = _MARK.fullmatch(text)
    if match is None:
        return None
    return _Mark(_EPOCH + int(match[1]) * _MICROSECOND, int(match[2]))


def _link(query: Mapping[str, str], move: str, transfer: Transfer) -> str:
    kept = {name: value for name, value in query.items() if name not in _MOVES}
    micros = (transfer.block_time - _EPOCH) // _MICROSECOND
    return urlencode(kept | {move: f"{micros}-{transfer.pk}"})
