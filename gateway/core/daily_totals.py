"""Daily totals: update, rebuild, verify.

A change of totalled data inserts a row with the difference, a delta, and never updates a row. So writers never wait for
each other. A total is the sum of its rows. A task folds the deltas of a total into one row (`is_sum`).

Each app registers its tables of totals when it starts (`AppConfig.ready`). Folding, the nightly check and its repair work on
all registered tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import structlog
from django.db import DatabaseError, connection, transaction

log = structlog.get_logger(__name__)

# Number of deltas folded at once.
_BATCH: Final = 20_000
# How long a fold waits for a lock. A repair may hold a table's lock for long.
_LONGEST_WAIT: Final = "2s"
_MERGED: Final = {
    "sum": "kept.{0} + EXCLUDED.{0}",
    "min": "LEAST(kept.{0}, EXCLUDED.{0})",
    "max": "GREATEST(kept.{0}, EXCLUDED.{0})",
}


class Days(NamedTuple):
    """The days (UTC) `since <= day < until`."""

    since: date = date.min
    until: date = date.max


@dataclass(frozen=True, slots=True)
class SumTable:
    """A table of totals: its key columns, its measures, and a statement that computes the totals from the original rows.

    `measures` are added up; `least` and `greatest` keep the minimum and the maximum. `raw` selects keys and measures of
    some `Days`, which are its parameters; tables without it are only folded. The nightly check compares all days, or with
    `checks_last_day` only the day before.
    """

    name: str
    keys: tuple[str, ...]
    measures: tuple[str, ...] = ("count", "units")
    least: tuple[str, ...] = ()
    greatest: tuple[str, ...] = ()
    raw: str = ""
    checks_last_day: bool = False

    def sql(self, statement: str) -> str:
        """Return a statement with this table's names filled in."""
        aggregates = (
            dict.fromkeys(self.measures, "sum") | dict.fromkeys(self.least, "min") | dict.fromkeys(self.greatest, "max")
        )
        kept = [f"COALESCE(kept.{name}, 0)" for name in aggregates]
        raw = [f"COALESCE(raw.{name}, 0)" for name in aggregates]
        return statement.format(
            name=self.name,
            keys=", ".join(self.keys),
            measures=", ".join(aggregates),
            totals=", ".join(f"{how}({n}) AS {n}" for n, how in aggregates.items()),
            merged=", ".join(f"{n} = {_MERGED[how].format(n)}" for n, how in aggregates.items()),
            kept=", ".join(kept),
            original=", ".join(raw),
            off=", ".join(f"({one} - {other})::numeric" for one, other in zip(kept, raw, strict=True)),
            raw=self.raw,
        )


def days_of(moment: str) -> str:
    """Return the SQL condition that a time is within a `raw` statement's days (UTC)."""
    return f"""
        {moment} >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
        AND {moment} < %(until)s::date::timestamp AT TIME ZONE 'UTC'
    """


# One statement reads both sides from one snapshot, so writers need not stop.
_COMPARE = """
    WITH raw AS ({raw}), kept AS (
        SELECT {keys}, {totals} FROM {name} WHERE day >= %(since)s::date AND day < %(until)s::date GROUP BY {keys}
    )
    SELECT {keys}, {off} FROM raw FULL JOIN kept USING ({keys})
    WHERE ({kept}) <> ({original})
    ORDER BY {keys}
"""
_LOCK = "LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE"
_DELETE = "DELETE FROM {name} WHERE day >= %(since)s::date AND day < %(until)s::date"
_FILL = """
    INSERT INTO {name} ({keys}, {measures}, is_sum) SELECT {keys}, {measures}, true FROM ({raw}) raw
"""
# Deltas that another task has locked are skipped. Totals are locked in one order, so two tasks never deadlock.
_FOLD = """
    WITH gone AS (
        DELETE FROM {name} WHERE id IN (
            SELECT id FROM {name} WHERE NOT is_sum ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED)
        RETURNING *
    ), added AS (
        INSERT INTO {name} AS kept ({keys}, {measures}, is_sum)
        SELECT {keys}, {totals}, true FROM gone GROUP BY {keys} ORDER BY {keys}
        ON CONFLICT ({keys}) WHERE is_sum DO UPDATE SET {merged}
    )
    SELECT count(*) FROM gone
"""


@dataclass(frozen=True, slots=True)
class SumDifference:
    """A total that differs from the sum of its rows.

    `key` has the values of the table's keys; `off` has, by measure, the stored value less the recomputed one.
    """

    table: SumTable
    key: Mapping[str, Any]
    off: Mapping[str, Decimal]

    def __str__(self) -> str:
        words = " ".join(f"{name}={value}" for name, value in self.key.items())
        off = " ".join(f"{name} {value:+f}" for name, value in self.off.items())
        return f"{self.table.name} {words}: kept less raw {off}"


_tables: Final[list[SumTable]] = []


def register(*tables: SumTable) -> None:
    """Have an app's tables folded and checked from now on."""
    _tables.extend(tables)


def nightly_days(today: date) -> dict[SumTable, Days]:
    """Return the days of each table that the nightly check compares."""
    last = Days(today - timedelta(days=1), today)
    return {table: last if table.checks_last_day else Days() for table in _tables if table.raw}


def compare(days: Mapping[SumTable, Days]) -> list[SumDifference]:
    """Compare days of tables with their rows; change nothing."""
    return [difference for table, its_days in days.items() for difference in compare_days(table, its_days)]


def rebuild(days: Mapping[SumTable, Days]) -> None:
    """Recompute days of tables, each table as `rebuild_days` does."""
    for table, its_days in days.items():
        rebuild_days(table, its_days)


def check(*, today: date) -> int:
    """Do the nightly check: log each difference; return how many there are."""
    found = compare(nightly_days(today))
    for difference in found:
        log.error("a daily total is wrong", difference=str(difference))
    return len(found)


def compare_days(table: SumTable, days: Days) -> list[SumDifference]:
    """Compare days of one table for all keys; change nothing."""
    names = (*table.measures, *table.least, *table.greatest)
    width = len(table.keys)
    with connection.cursor() as cursor:
        cursor.execute(table.sql(_COMPARE), days._asdict())
        return [
            SumDifference(
                table, dict(zip(table.keys, row[:width], strict=True)), dict(zip(names, row[width:], strict=True))
            )
            for row in cursor
        ]


@transaction.atomic
def rebuild_days(table: SumTable, days: Days) -> None:
    """Recompute the totals of some days. Writers wait meanwhile, and add their deltas afterwards."""
    with connection.cursor() as cursor:
        for statement in (_LOCK, _DELETE, _FILL):
            cursor.execute(table.sql(statement), days._asdict())


def fold_all() -> int:
    """Fold the deltas of all registered tables; return how many there were. An error in one table does not stop the others.

    Each error is logged, and the first one raised at the end.
    """
    total, errors = 0, []
    for table in _tables:
        try:
            total += fold(table)
        except DatabaseError as error:
            log.exception("totals could not be folded", table=table.name)
            errors.append(error)
    if errors:
        raise errors[0]
    return total


def fold(table: SumTable) -> int:
    """Fold a table's deltas into its totals; return how many there were. The totals' values stay the same.

    Raises OperationalError while another transaction keeps the table locked; the next run folds it.
    """
    total = 0
    while True:
        gone = _fold_batch(table)
        total += gone
        if gone < _BATCH:
            return total


@transaction.atomic
def _fold_batch(table: SumTable) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{_LONGEST_WAIT}'")
        cursor.execute(table.sql(_FOLD), {"batch": _BATCH})
        return int(cursor.fetchone()[0])
