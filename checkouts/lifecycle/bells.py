"""Notifies checkout pages' streams that a page may have changed. The streams read the change from the database."""

import re
from collections.abc import Iterable

from gateway.core import bell

PAGES = "florin_pages"
# A PostgreSQL notice holds less than 8,000 bytes; a bigint and its comma take at most 20.
_IDS_OF_A_NOTICE = 390
_ID = re.compile(r"[0-9]{1,19}")


def ring_pages(checkout_ids: Iterable[int]) -> None:
    """Notify in the caller's transaction: sent on commit, and never if it rolls back."""
    ids = [str(checkout_id) for checkout_id in checkout_ids]
    notices = [",".join(ids[start : start + _IDS_OF_A_NOTICE]) for start in range(0, len(ids), _IDS_OF_A_NOTICE)]
    if notices:
        bell.ring(PAGES, notices)


def rung_ids(notice: str) -> list[int]:
    """Return the checkouts of a notice. Any database user may send one, with any content."""
    return [int(word) for word in notice.split(",") if _ID.fullmatch(word)]
