"""Telling the streams of checkout pages that a page may have something else to show. What that is, they ask the database."""

import re
from collections.abc import Iterable

from django.db import connection

CHANNEL = "florin_pages"
# PostgreSQL takes less than 8,000 bytes in a notice; a bigint and its comma are 20 at most.
_IDS_OF_A_NOTICE = 390
_ID = re.compile(r"[0-9]{1,19}")


def ring_pages(checkout_ids: Iterable[int]) -> None:
    """Ring in the caller's transaction: heard as soon as that is committed, and never if it is not."""
    ids = [str(checkout_id) for checkout_id in checkout_ids]
    notices = [
        ",".join(ids[start : start + _IDS_OF_A_NOTICE])
        for start in range(0, len(ids), _IDS_OF_A_NOTICE)
    ]
    if not notices:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_notify(%s::text, notice) FROM unnest(%s::text[]) AS n(notice)",
            [CHANNEL, notices],
        )


def rung_ids(notice: str) -> list[int]:
    """Return the checkouts a notice names; whoever may connect to the database may send one, and anything in it."""
    return [int(word) for word in notice.split(",") if _ID.fullmatch(word)]
