"""Emptying the tables after a test whose transactions were real, in milliseconds where Django's flush takes half a second.

Truncating gives every table and index new files, even those that nobody wrote to. Deleting from nearly empty
tables costs next to nothing. `clean_tables` removes what tests leave that roll back.
"""

from collections.abc import Iterable
from functools import cache

from django.db import ProgrammingError, connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

from tests.timed import timed

LARGE_BYTES = 1_000_000
"""From this size on a table is truncated, so that no later test reads past what was deleted."""

# What Django makes after migrating, and after a flush just as it was.
_MADE_BY_MIGRATING = {"django_content_type", "auth_permission"}
_PERMITTED = "SELECT has_parameter_privilege('session_replication_role', 'SET')"
_LARGE = "SELECT name FROM unnest(%s::text[]) name WHERE pg_relation_size(quote_ident(name)::regclass) > %s"
# A vacuumed table has no pages left. Live rows, of fixtures that outlive a test, stay.
_GROWN = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > %s
"""
_flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # missing in the stubs


def empty_instead_of_flushing() -> None:
    """Let every test with real transactions end this way, if the database's user may skip triggers."""
    TransactionTestCase._fixture_teardown = _empty_or_flush  # type: ignore[attr-defined]


def _empty_or_flush(case: TransactionTestCase) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_PERMITTED)
        is_permitted = cursor.fetchone()[0]
    if is_permitted:
        empty_tables()
    else:
        _flush(case)


@timed("database emptyings")
def empty_tables() -> None:
    """Delete all rows of all models, but those that migrating made."""
    introspection = connection.introspection
    try:
        _empty(introspection.django_table_names())
    except ProgrammingError:
        # A test took migrations back.
        _empty(introspection.django_table_names(only_existing=True, include_views=False))


@transaction.atomic
def _empty(tables: Iterable[str]) -> None:
    names = sorted(set(tables) - _MADE_BY_MIGRATING)
    lock, deletion = _statements(tuple(names))
    with connection.cursor() as cursor:
        # As a replica PostgreSQL asks neither foreign keys nor the triggers that keep rows from being deleted.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(lock)
        cursor.execute(_LARGE, [names, LARGE_BYTES])
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(name)).as_string())
        cursor.execute(deletion)


@cache
def _statements(names: tuple[str, ...]) -> tuple[str, str]:
    """What locks the tables, which waits for whoever still writes, as truncating does; and what deletes all rows of each.

    That is one statement, which is prepared: planning a hundred and more takes ten times as long as running them.
    """
    tables = [sql.Identifier(name) for name in names]
    locked = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(sql.SQL(", ").join(tables))
    parts = [sql.SQL("{} AS (DELETE FROM {})").format(sql.Identifier(f"d{n}"), table) for n, table in enumerate(tables)]
    return locked.as_string(), sql.SQL("WITH {} SELECT").format(sql.SQL(", ").join(parts)).as_string()


# What was counted in a table that is empty again makes PostgreSQL plan for a row or none, and join the next test's
# thousands one by one: minutes instead of milliseconds. A table that was never counted is estimated by its size.
_FORGET_COUNTS = """
    SELECT pg_clear_relation_stats('public', relname) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples >= 0
"""


@timed("table cleanings")
def clean_tables() -> None:
    """Free the space of rows that tests rolled back, which later queries would read past, and forget what was counted.

    Only in a test's database, and outside of transactions.
    """
    names = connection.settings_dict
    if names["NAME"] != names["TEST"]["NAME"] or connection.in_atomic_block:
        return
    with connection.cursor() as cursor:
        cursor.execute(_GROWN, [LARGE_BYTES])
        for (table,) in cursor.fetchall():
            cursor.execute(sql.SQL("VACUUM (SKIP_LOCKED) {}").format(sql.Identifier(table)).as_string())
        cursor.execute(_FORGET_COUNTS)
