"""Times are read from PostgreSQL by psycopg's own loader, as Django's would read them."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.db import DataError, connection

from gateway.core.postgres.base import UtcLoader

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC)


def read(text: str) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [text])
        [told] = cursor.fetchone()
    return told  # type: ignore[no-any-return]


def test_a_time_is_read_exactly_and_in_utc() -> None:
    told = read("2026-03-29 03:30:00.000001+02")
    assert told == MOMENT
    assert told.tzinfo is UTC


def test_a_session_in_another_time_zone_reads_the_same_moment() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Kathmandu'")
    assert read("2026-03-29 03:30:00.000001+02") == MOMENT


def test_a_time_beyond_pythons_is_refused() -> None:
    with pytest.raises(DataError):
        read("infinity")


def test_every_connection_reads_with_psycopgs_own_loader() -> None:
    connection.ensure_connection()
    oid, text = psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT
    loader: Any = connection.connection.adapters.get_loader(oid, text)
    assert type(loader(oid)) is psycopg.adapters.get_loader(oid, text)
    assert loader is UtcLoader
