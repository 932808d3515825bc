"""The quick way to empty tables leaves what Django's flush leaves."""

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from tests import emptying
from tests.checkouts.crowds import make_crowd
from tests.factories import make_checkout, make_merchant

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> dict[str, int]:
    """How many rows each table has."""
    counted = {}
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT count(*) FROM {name}")
            counted[name] = cursor.fetchone()[0]
    return counted


def left_by(empty: Callable[[], object]) -> dict[str, int]:
    """What is left of a checkout and all that belongs to it."""
    make_checkout(make_merchant())
    assert rows()["checkouts_checkout"] == 1
    empty()
    return rows()


@pytest.mark.parametrize("large_bytes", [0, emptying.LARGE_BYTES])
def test_emptying_leaves_what_a_flush_leaves(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptying, "LARGE_BYTES", large_bytes)
    flushed = left_by(lambda: call_command("flush", verbosity=0, interactive=False))
    assert left_by(emptying.empty_tables) == flushed
    assert flushed["auth_permission"] > 0


def test_what_a_test_rolled_back_takes_no_room_after_a_vacuum() -> None:
    with transaction.atomic():
        make_crowd(make_merchant(), 5_000)
        transaction.set_rollback(True)
    assert table_bytes() > emptying.LARGE_BYTES
    emptying.clean_tables()
    assert table_bytes() == 0


def table_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size('checkouts_checkout')")
        size: int = cursor.fetchone()[0]
    return size


def test_what_was_counted_in_a_table_is_forgotten() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout")
        assert counted(cursor) == 0
        emptying.clean_tables()
        assert counted(cursor) == -1


def counted(cursor: CursorWrapper) -> int:
    """How many rows PostgreSQL believes are in the table; -1 if it never counted them."""
    cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'checkouts_checkout'")
    return int(cursor.fetchone()[0])
