"""One process at a time does a piece of work."""

from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from settlements.sweeps.turns import alone


@pytest.mark.django_db
def test_work_that_another_session_does_is_not_ours_until_it_ends() -> None:
    where = make_conninfo(
        settings.DATABASE_URL, dbname=connection.settings_dict["NAME"]
    )
    with alone("sweep:base") as is_ours:
        assert is_ours
        [(key,)] = _locks()
        with psycopg.connect(where, autocommit=True) as other:
            taken = other.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
            assert taken == (False,)
    assert _locks() == []


def _locks() -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (classid::bigint << 32) + objid::bigint FROM pg_locks"
            " WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND mode = 'ExclusiveLock'"
        )
        return list(cursor.fetchall())
