"""The quick way to empty tables leaves what Django's flush leaves."""

from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.db import connection

from tests import emptying
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
def test_emptying_leaves_what_a_flush_leaves(
    large_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emptying, "LARGE_BYTES", large_bytes)
    flushed = left_by(lambda: call_command("flush", verbosity=0, interactive=False))
    assert left_by(emptying.empty_tables) == flushed
    assert flushed["auth_permission"] > 0
