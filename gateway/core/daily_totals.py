"""Sums that are kept by day, in rows that are to be added up: put together, summed up anew, and compared with what they sum up.

Who writes what is summed up adds a row, and touches none that is there. A table of days has a column for each key, `count`, its
measure, and `is_sum`, which is true where a task put rows together.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

# What is put together at once.
_BATCH: Final = 20_000


@dataclass(frozen=True, slots=True)
class DayTable:
    """A table of days: the columns that say what a row is of, its measure, and a statement that sums up anew.

    The statement selects keys, `count` and measure for the days `since <= day < until`, which are its parameters.
    """

    name: str
    keys: tuple[str, ...]
    raw: str
    measure: str = "units"

    @property
    def columns(self) -> str:
        """The columns of a key, as SQL."""
        return ", ".join(self.keys)


def days_of(moment: str) -> str:
    """Return the SQL condition that a time is within a `raw` statement's days, which are those of UTC."""
    return f"""
        {moment} >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
        AND {moment} < %(until)s::date::timestamp AT TIME ZONE 'UTC'
    """


# One statement, so that both sides are seen at one moment: writers need not stop.
_COMPARE = """
    WITH raw AS ({table.raw}), kept AS (
        SELECT {table.columns}, sum(count)::bigint AS count, sum({table.measure}) AS {table.measure} FROM {table.name}
        WHERE day >= %(since)s::date AND day < %(until)s::date
        GROUP BY {table.columns}
    )
    SELECT {table.columns}, COALESCE(kept.count, 0) - COALESCE(raw.count, 0),
           COALESCE(kept.{table.measure}, 0) - COALESCE(raw.{table.measure}, 0)
    FROM raw FULL JOIN kept USING ({table.columns})
    WHERE COALESCE(kept.count, 0) <> COALESCE(raw.count, 0)
       OR COALESCE(kept.{table.measure}, 0) <> COALESCE(raw.{table.measure}, 0)
    ORDER BY {table.columns}
"""
_LOCK = "LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"
_FORGET = (
    "DELETE FROM {table.name} WHERE day >= %(since)s::date AND day < %(until)s::date"
)
_FILL = """
    INSERT INTO {table.name} ({table.columns}, count, {table.measure}, is_sum)
    SELECT {table.columns}, count, {table.measure}, true FROM ({table.raw}) raw
"""
# Rows that another task has in hand are left to it. Sums are added to in one order, for the same reason.
_FOLD = """
    WITH gone AS (
        DELETE FROM {table.name} WHERE id IN (
            SELECT id FROM {table.name} WHERE NOT is_sum ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED)
        RETURNING *
    ), added AS (
        INSERT INTO {table.name} AS kept ({table.columns}, count, {table.measure}, is_sum)
        SELECT {table.columns}, sum(count), sum({table.measure}), true FROM gone
        GROUP BY {table.columns} ORDER BY {table.columns}
        ON CONFLICT ({table.columns}) WHERE is_sum
        DO UPDATE SET count = kept.count + EXCLUDED.count,
                      {table.measure} = kept.{table.measure} + EXCLUDED.{table.measure}
    )
    SELECT count(*) FROM gone
"""


@dataclass(frozen=True, slots=True)
class DayDifference:
    """A day that is not what its rows add up to: kept less raw.

    `key` has the values of the table's keys, in their order; `measure` is in base units, or in USD for fees.
    """

    table: DayTable
    key: tuple[Any, ...]
    count: int
    measure: Decimal

    def __str__(self) -> str:
        named = zip(self.table.keys, self.key, strict=True)
        words = " ".join(f"{name}={value}" for name, value in named)
        sums = f"count {self.count:+d} {self.table.measure} {self.measure:+f}"
        return f"{self.table.name} {words}: kept less raw {sums}"


def compare_days(table: DayTable, *, since: date, until: date) -> list[DayDifference]:
    """Compare the days `since <= day < until`, of everybody; nothing is changed."""
    with connection.cursor() as cursor:
        _run(cursor, _COMPARE, table, since, until)
        return [
            DayDifference(table, tuple(key), int(count), measure)
            for *key, count, measure in cursor
        ]


@transaction.atomic
def rebuild_days(table: DayTable, *, since: date, until: date) -> None:
    """Sum the days `since <= day < until` up anew. Writers wait meanwhile, and add theirs afterwards."""
    with connection.cursor() as cursor:
        for statement in (_LOCK, _FORGET, _FILL):
            _run(cursor, statement, table, since, until)


def fold_days(table: DayTable) -> int:
    """Put the rows that transactions added together with the sums they belong to; return how many there were."""
    total = 0
    with connection.cursor() as cursor:
        while True:
            cursor.execute(_FOLD.format(table=table), {"batch": _BATCH})
            gone = int(cursor.fetchone()[0])
            total += gone
            if gone < _BATCH:
                return total


def _run(
    cursor: Any, statement: str, table: DayTable, since: date, until: date
) -> None:
    cursor.execute(statement.format(table=table), {"since": since, "until": until})
