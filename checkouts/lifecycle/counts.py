"""Counts of checkouts by status and their daily totals: kept as inserted differences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from django.db import connection
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce, Round

from checkouts.models import Checkout
from checkouts.states import CheckoutException
from gateway.core.daily_totals import SumTable

# Merchant, mode and status.
CountKey = tuple[int, str, str]

CHECKOUT_COUNTS: Final = SumTable("checkouts_checkoutcount", ("merchant_id", "mode", "status"), ("value",))
VOLUME: Final = "round(COALESCE(c.accepted_amount, c.amount), 2)"
"""What a completed checkout `c` adds to its day: its price, or the money that was accepted for it, each to a cent."""
_COUNT = """
    INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value)
    SELECT * FROM unnest(%b::bigint[], %b::text[], %b::text[], %b::bigint[])
"""
_ADD_TO_DAYS = """
    INSERT INTO checkouts_dailytotal
        (merchant_id, mode, day, chain, token, created, completed, expired, volume, first_id, last_id)
    SELECT merchant_id, mode, day, chain, token, count(made), sum(completed), sum(expired), sum(volume), min(made), max(made)
    FROM unnest(%b::bigint[], %b::text[], %b::date[], %b::text[], %b::text[], %b::bigint[], %b::bigint[], %s::numeric[],
                %b::bigint[]) AS n (merchant_id, mode, day, chain, token, completed, expired, volume, made)
    GROUP BY 1, 2, 3, 4, 5
"""
# The day, chain and token of its completion, as `CHECKOUT_DAYS.raw` finds them.
_ADD_VOLUMES = f"""
    INSERT INTO checkouts_dailytotal
        (merchant_id, mode, day, chain, token, created, completed, expired, volume)
    SELECT c.merchant_id, c.mode, (c.paid_at AT TIME ZONE 'UTC')::date, last.chain, last.token, 0, 0, 0,
        {VOLUME} * CASE c.exception WHEN 'reversed' THEN -1 ELSE 1 END
    FROM checkouts_checkout c
    CROSS JOIN LATERAL (
        SELECT t.chain, t.token FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
        WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
    ) last
    WHERE c.id = ANY(%s)
"""  # noqa: S608 - a constant


class DayChange(NamedTuple):
    """A checkout's contribution to its merchant's daily total.

    `chain` and `token` are those it was paid by, else empty; `volume` is USD to a cent; `made` is the key of a created checkout.
    """

    merchant_id: int
    mode: str
    day: date
    chain: str = ""
    token: str = ""
    completed: int = 0
    expired: int = 0
    volume: Decimal = Decimal(0)
    made: int | None = None


def day_of(moment: datetime) -> date:
    """Return the UTC day of a moment."""
    return moment.astimezone(UTC).date()


def paid_between(merchant_id: int, mode: str, begins: datetime, ends: datetime) -> tuple[int, Decimal]:
    """Return how many checkouts of a merchant and mode completed from a moment on and before another, and their volume in USD.

    It adds up rows as `CHECKOUT_DAYS.raw` does: for days of a time zone, of which no sums are kept.
    """
    paid = Checkout.objects.filter(merchant=merchant_id, mode=mode, paid_at__gte=begins, paid_at__lt=ends)
    each = Round(Coalesce("accepted_amount", "amount"), precision=2)
    sums = paid.aggregate(
        completed=Count("pk"), volume=Sum(each, filter=~Q(exception=CheckoutException.REVERSED), default=Decimal(0))
    )
    return sums["completed"], sums["volume"]


def add_to_days(changes: Iterable[DayChange]) -> None:
    """Insert checkouts' contributions to daily totals, in one statement."""
    columns = [list(column) for column in zip(*changes, strict=True)]
    if columns:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_TO_DAYS, columns)


def add_volumes(turned: Sequence[Checkout]) -> None:
    """Take reversed checkouts out of their days' volumes, and put restored ones back, with what they added to them.

    The rows have their new exceptions already.
    """
    if turned:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_VOLUMES, [[checkout.pk for checkout in turned]])


def count(changes: Counter[CountKey]) -> None:
    """Insert changes of the counts, in one statement."""
    rows = [(*map(str, key[1:]), key[0], n) for key, n in changes.items() if n]
    if rows:
        modes, statuses, merchants, values = (list(column) for column in zip(*rows, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, [merchants, modes, statuses, values])


# A completed checkout counts under the chain and token of its last transfer credited by then; while it is reversed, without its
# volume.
CHECKOUT_DAYS: Final = SumTable(
    "checkouts_dailytotal",
    ("merchant_id", "mode", "day", "chain", "token"),
    ("created", "completed", "expired", "volume"),
    least=("first_id",),
    greatest=("last_id",),
    raw=f"""
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
        SELECT c.merchant_id, c.mode, (c.paid_at AT TIME ZONE 'UTC')::date, last.chain, last.token, 0, 1, 0,
               CASE c.exception WHEN 'reversed' THEN 0 ELSE {VOLUME} END, NULL
        FROM checkouts_checkout c
        CROSS JOIN LATERAL (
            SELECT t.chain, t.token FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
            WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
        ) last
        WHERE c.paid_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
          AND c.paid_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
    ) facts
    GROUP BY merchant_id, mode, day, chain, token
""",  # noqa: S608 - a constant
    checks_last_day=True,
)
