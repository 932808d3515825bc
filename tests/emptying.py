"""Emptying the tables after a test whose transactions were real, in milliseconds where Django's flush takes half a second.

Truncating gives every table and index new files, even those that nobody wrote to. Deleting from nearly empty
tables costs next to nothing. `clean_tables` removes what tests leave that roll back.
"""

from django.db import connection
from django.test import TransactionTestCase
from psycopg import sql

from tests.timed import timed

LARGE_BYTES = 1_000_000
"""From this size on a table is truncated, so that no later test reads past what was deleted."""

# What Django makes after migrating, and after a flush just as it was.
_MADE_BY_MIGRATING = {"django_content_type", "auth_permission"}
_PERMITTED = "SELECT has_parameter_privilege('session_replication_role', 'SET')"
# The lock waits for whoever still writes, as truncating does. As a replica PostgreSQL asks neither foreign keys nor
# the triggers that keep rows from being deleted.
_EMPTY = sql.SQL("""
DO $$
DECLARE
    table_name regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE;
    FOREACH table_name IN ARRAY {names}::regclass[] LOOP
        IF pg_relation_size(table_name) > {large} THEN
            EXECUTE format('TRUNCATE %s CASCADE', table_name);
        ELSE
            EXECUTE format('DELETE FROM %s', table_name);
        END IF;
    END LOOP;
END $$
""")
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
    with connection.cursor() as cursor:
        cursor.execute(_statement())


def _statement() -> str:
    existing = connection.introspection.django_table_names(only_existing=True, include_views=False)
    names = sorted(set(existing) - _MADE_BY_MIGRATING)
    return _EMPTY.format(
        tables=sql.SQL(", ").join(map(sql.Identifier, names)), names=sql.Literal(names), large=sql.Literal(LARGE_BYTES)
    ).as_string()


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
