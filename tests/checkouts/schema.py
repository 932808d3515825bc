"""Taking a promise out of the database, to show that a test fails without it."""

from django.db import connection


def alter(statement: str) -> None:
    """Change the schema inside the test's transaction, which is rolled back."""
    assert connection.in_atomic_block
    with connection.cursor() as cursor:
        # PostgreSQL alters no table whose deferred checks still wait.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)
