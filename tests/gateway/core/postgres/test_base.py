"""The backend: times are read in C, whatever time zone the session is in."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from psycopg.postgres import types
from psycopg.pq import Format

pytestmark = pytest.mark.django_db(transaction=True)

MOMENT = datetime(2026, 2, 28, 23, 59, 59, 123456, UTC)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_a_time_is_read_exactly_in_any_time_zone_of_the_session(zone: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [zone])
        try:
            cursor.execute("SELECT %s::timestamptz, NULL::timestamptz", [MOMENT])
            read, missing = cursor.fetchone()
        finally:
            cursor.execute("SET TIME ZONE 'UTC'")
    assert (read, missing) == (MOMENT, None)
    assert zone != "UTC" or read.utcoffset() == timedelta(0)


def test_times_are_read_in_c() -> None:
    connection.ensure_connection()
    adapters = connection.connection.adapters
    oid = types["timestamptz"].oid
    loader = adapters.get_loader(oid, Format.TEXT)
    assert loader is not None
    assert loader.__module__ == "psycopg_binary._psycopg"


def test_a_cursor_with_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="not supported"):
        connection.create_cursor("kept")
