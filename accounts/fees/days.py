"""Daily totals of fees, by merchant and chain: charges less refunds."""

from typing import Final

from gateway.core.daily_totals import SumTable, days_of

FEE_DAYS: Final = SumTable(
    "accounts_feeday",
    ("merchant_id", "day", "chain"),
    ("count", "amount"),
    raw=f"""
    SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date AS day, chain,
           sum(1 - 2 * (number %% 2))::bigint AS count, sum(amount) AS amount
    FROM accounts_feeentry WHERE {days_of("charged_at")}
    GROUP BY 1, 2, 3
    """,  # noqa: S608 - only our own text is put in
)
