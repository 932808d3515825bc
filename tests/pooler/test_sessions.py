"""What a pooler in transaction mode does to whatever lies on a session, and that nothing of ours does."""

from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from gateway.core.leases import leases
from tests.waiting import wait_until

pytestmark = [pytest.mark.pooler, pytest.mark.django_db(transaction=True)]
KEY = 20_261_123


def session() -> int:
    """Which session of the server answers."""
    return int(asked("SELECT pg_backend_pid()"))


def asked(statement: str, *parameters: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]


@pytest.fixture(autouse=True)
def several_sessions() -> None:
    """PgBouncer opens the sessions of a new database one after another."""
    wait_until(lambda: len({session() for _ in range(8)}) > 1)


def test_each_statement_may_be_in_another_session() -> None:
    assert len({session() for _ in range(20)}) > 1


def test_a_lock_of_a_session_would_stay_with_another_clients_session() -> None:
    """As settlements took it before: whoever is given its session has it as well, and its owner, in another one, has not."""
    with ExitStack() as clients:
        owner = client(clients)
        place = session_of(owner)
        assert answer(owner, "SELECT pg_try_advisory_lock(%s)", KEY)
        owner.commit()
        others = [client(clients)]
        # A client in a transaction keeps its session, so that the next one is given another that is free.
        while session_of(others[-1]) != place:
            others.append(client(clients))
        assert answer(others[-1], "SELECT pg_try_advisory_lock(%s)", KEY)
        for other in others[:-1]:
            other.rollback()
        assert not answer(owner, "SELECT pg_advisory_unlock(%s)", KEY)
        # Once for each who took it: then it is free for other tests.
        for _ in range(2):
            assert answer(others[-1], "SELECT pg_advisory_unlock(%s)", KEY)


def client(clients: ExitStack) -> psycopg.Connection[Any]:
    """A client of the pooler, whose transactions begin with a statement and end by hand."""
    where = make_conninfo(settings.DATABASE_URL, dbname=str(connection.settings_dict["NAME"]))
    return clients.enter_context(psycopg.connect(where, prepare_threshold=None))


def session_of(one: psycopg.Connection[Any]) -> int:
    return int(answer(one, "SELECT pg_backend_pid()"))


def answer(one: psycopg.Connection[Any], statement: str, *parameters: Any) -> Any:
    (row,) = one.execute(statement, parameters).fetchall()
    return row[0]


def test_a_lease_does_not() -> None:
    for _ in range(20):
        assert leases.take("work", "one", seconds=60)
        assert leases.take("work", "two", seconds=60) is None
    leases.release("work", "one")
    assert leases.take("work", "two", seconds=60)


def test_what_is_prepared_would_stay_there_too() -> None:
    where = make_conninfo(settings.DATABASE_URL, dbname=str(connection.settings_dict["NAME"]))
    with (
        psycopg.connect(where, autocommit=True, prepare_threshold=0) as client,
        pytest.raises(psycopg.errors.Error, match="prepared statement"),
    ):
        _ = [client.execute("SELECT 1") for _ in range(20)]
    assert connection.get_connection_params()["prepare_threshold"] is None


def test_the_roles_defaults_reach_every_session() -> None:
    limits = {asked("SHOW idle_in_transaction_session_timeout") for _ in range(20)}
    assert limits == {"10s"}
