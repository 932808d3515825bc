"""Daily totals of transfers, watched movements and fees: fold, rebuild, verify."""

from datetime import date
from typing import Final

import structlog

from accounts.fees.service import FEE_DAYS
from gateway.core import daily_totals
from gateway.core.daily_totals import SumDifference, SumTable, days_of

log = structlog.get_logger(__name__)

TRANSFER_DAYS: Final = SumTable(
    "wallets_transferday",
    ("merchant_id", "mode", "day", "chain", "token", "state", "claim"),
    raw=f"""
    SELECT t.merchant_id, t.mode, (t.block_time AT TIME ZONE 'UTC')::date AS day, t.chain, t.token, t.state,
           COALESCE(c.kind, '') AS claim, count(*) AS count, sum(t.units) AS units
    FROM wallets_transfer t LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
    WHERE {days_of("t.block_time")}
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    """,  # noqa: S608 - only our own text is put in
)
WATCHED_DAYS: Final = SumTable(
    "wallets_watchedday",
    ("wallet_id", "day", "token", "direction", "state", "is_payment"),
    raw=f"""
    SELECT wallet_id, (block_time AT TIME ZONE 'UTC')::date AS day, token, direction, state, is_payment,
           count(*) AS count, sum(units) AS units
    FROM wallets_watchedmovement
    WHERE {days_of("block_time")}
    GROUP BY 1, 2, 3, 4, 5, 6
    """,  # noqa: S608 - only our own text is put in
)
DAY_TABLES: Final = (FEE_DAYS, TRANSFER_DAYS, WATCHED_DAYS)


def day_differences(*, since: date = date.min, until: date = date.max) -> list[SumDifference]:
    """Compare the days `since <= day < until` for all merchants; change nothing."""
    return [
        difference for table in DAY_TABLES for difference in daily_totals.compare_days(table, since=since, until=until)
    ]


def check_days() -> int:
    """Compare all days and log each difference; return how many there are.

    All days, not only the last: claims, reorgs and imported history change old days.
    """
    found = day_differences()
    for difference in found:
        log.error("a day's sum is wrong", difference=str(difference))
    return len(found)


def rebuild_days(*, since: date = date.min, until: date = date.max) -> None:
    """Recompute the days `since <= day < until`. Writers wait meanwhile, and add their deltas afterwards."""
    for table in DAY_TABLES:
        daily_totals.rebuild_days(table, since=since, until=until)


def fold_days() -> int:
    """Fold the deltas that transactions inserted into their totals; return how many there were."""
    return daily_totals.fold_all(DAY_TABLES)
