"""What a pooler in transaction mode does to whatever lies on a session, and that nothing of ours does."""

from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from gateway.core.leases import leases

pytestmark = [pytest.mark.pooler, pytest.mark.django_db(transaction=True)]
KEY = 20_261_123


def session() -> int:
    """Which session of the server answers."""
    return int(asked("SELECT pg_backend_pid()"))


def asked(statement: str, *parameters: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]


def test_each_statement_may_be_in_another_session() -> None:
    assert len({session() for _ in range(20)}) > 1


def test_a_lock_of_a_session_would_stay_with_another_clients_session() -> None:
    """As settlements took it before: its client cannot give it back, and whoever has its session has it as well."""
    taken = [asked("SELECT pg_try_advisory_lock(%s)", KEY) for _ in range(20)]
    try:
        # The same client again, in other sessions; and others that are given the session, which "have" the lock by that.
        assert True in taken
        assert False in taken
        given_back = 0
        while asked("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"):
            given_back += asked("SELECT pg_advisory_unlock(%s)", KEY)
        assert given_back == taken.count(True) > 1
    finally:
        asked("SELECT count(pg_advisory_unlock_all()::text)")


def test_a_lease_does_not() -> None:
    for _ in range(20):
        assert leases.take("work", "one", seconds=60)
        assert leases.take("work", "two", seconds=60) is None
    leases.release("work", "one")
    assert leases.take("work", "two", seconds=60)


def test_what_is_prepared_would_stay_there_too() -> None:
    where = make_conninfo(
        settings.DATABASE_URL, dbname=str(connection.settings_dict["NAME"])
    )
    with (
        psycopg.connect(where, autocommit=True, prepare_threshold=0) as client,
        pytest.raises(psycopg.errors.Error, match="prepared statement"),
    ):
        _ = [client.execute("SELECT 1") for _ in range(20)]
    assert connection.get_connection_params()["prepare_threshold"] is None


def test_the_roles_defaults_reach_every_session() -> None:
    limits = {asked("SHOW idle_in_transaction_session_timeout") for _ in range(20)}
    assert limits == {"10s"}
