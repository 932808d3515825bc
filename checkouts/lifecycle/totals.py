"""Days summed up anew from what they were summed up from, to the cent: do the kept sums say the same?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import structlog
from django.db import connection, transaction

log = structlog.get_logger(__name__)

# What completed stands under the chain and token of the last transfer that was credited by then.
_RAW = """
    SELECT merchant_id, mode, day, chain, token, sum(created)::bigint AS created, sum(completed)::bigint AS completed,
           sum(expired)::bigint AS expired, sum(volume)::numeric(38, 2) AS volume, min(made) AS first_id,
           max(made) AS last_id
    FROM (
        SELECT merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date AS day, '' AS chain, '' AS token,
               1 AS created, 0 AS completed, 0 AS expired, 0 AS volume, id AS made
        FROM checkouts_checkout
        WHERE created_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
          AND created_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
        UNION ALL
        SELECT merchant_id, mode, (expires_at AT TIME ZONE 'UTC')::date, '', '', 0, 0, 1, 0, NULL
        FROM checkouts_checkout
        WHERE status = 'expired' AND expires_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
          AND expires_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
        UNION ALL
        SELECT c.merchant_id, c.mode, (c.paid_at AT TIME ZONE 'UTC')::date, last.chain, last.token, 0, 1, 0, c.amount, NULL
        FROM checkouts_checkout c
        CROSS JOIN LATERAL (
            SELECT t.chain, t.token FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
        ) last
        WHERE c.paid_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
          AND c.paid_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
    ) facts
    GROUP BY merchant_id, mode, day, chain, token
"""

# One statement, so that both sides are seen at one moment: writers need not stop.
_COMPARE = f"""
    WITH raw AS ({_RAW}), kept AS (
        SELECT merchant_id, mode, day, chain, token, sum(created)::bigint AS created,
               sum(completed)::bigint AS completed, sum(expired)::bigint AS expired, sum(volume) AS volume,
               min(first_id) AS first_id, max(last_id) AS last_id
        FROM checkouts_dailytotal WHERE day >= %(since)s::date AND day < %(until)s::date
        GROUP BY merchant_id, mode, day, chain, token
    )
    SELECT merchant_id, mode, day, chain, token,
           COALESCE(kept.created, 0) - COALESCE(raw.created, 0),
           COALESCE(kept.completed, 0) - COALESCE(raw.completed, 0),
           COALESCE(kept.expired, 0) - COALESCE(raw.expired, 0),
           COALESCE(kept.volume, 0) - COALESCE(raw.volume, 0)
    FROM raw FULL JOIN kept USING (merchant_id, mode, day, chain, token)
    WHERE (COALESCE(kept.created, 0), COALESCE(kept.completed, 0), COALESCE(kept.expired, 0), COALESCE(kept.volume, 0))
       <> (COALESCE(raw.created, 0), COALESCE(raw.completed, 0), COALESCE(raw.expired, 0), COALESCE(raw.volume, 0))
       OR (kept.first_id, kept.last_id) IS DISTINCT FROM (raw.first_id, raw.last_id)
    ORDER BY day, merchant_id, mode, chain, token
"""  # noqa: S608 - only our own text is put in

_FORGET = """
    DELETE FROM checkouts_dailytotal WHERE day >= %(since)s::date AND day < %(until)s::date
"""
_FILL = f"""
    INSERT INTO checkouts_dailytotal
        (merchant_id, mode, day, chain, token, slot, created, completed, expired, volume, first_id, last_id)
    SELECT merchant_id, mode, day, chain, token, 0, created, completed, expired, volume, first_id, last_id FROM ({_RAW}) raw
"""  # noqa: S608 - only our own text is put in


@dataclass(frozen=True, slots=True)
class Difference:
    """A day whose kept sums are not what its rows add up to: kept less raw, `volume` in USD with cents.

    Where all four are nothing, the keys of its first or last checkout are wrong.
    """

    merchant_id: int
    mode: str
    day: date
    chain: str
    token: str
    created: int
    completed: int
    expired: int
    volume: Any


def differences(*, since: date, until: date) -> list[Difference]:
    """Compare the days `since <= day < until`, of every merchant; nothing is changed."""
    with connection.cursor() as cursor:
        cursor.execute(_COMPARE, _between(since, until))
        return [Difference(*row) for row in cursor]


def check_yesterday(*, today: date) -> int:
    """Compare the day before `today`, and say in the log where it differs; return how often it does."""
    found = differences(since=today - timedelta(days=1), until=today)
    for difference in found:
        log.error("a daily total is wrong", difference=repr(difference))
    return len(found)


@transaction.atomic
def rebuild(*, since: date, until: date) -> None:
    """Sum the days `since <= day < until` up anew. Writers wait meanwhile, and add theirs afterwards."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE checkouts_dailytotal IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(_FORGET, _between(since, until))
        cursor.execute(_FILL, _between(since, until))


def _between(since: date, until: date) -> Mapping[str, date]:
    return {"since": since, "until": until}
