"""Daily totals of transfers and watched movements, which triggers add to."""

from typing import Final

from gateway.core.daily_totals import SumTable, days_of

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
