"""What PostgreSQL does for every process of ours by a default of their role, and who tells where it is missing."""

from collections.abc import Iterator

import pytest
from django.db import connection
from structlog.testing import capture_logs

from gateway.core.postgres.base import LIMIT_PAUSES, DatabaseWrapper

pytestmark = pytest.mark.django_db(transaction=True)
# In this database alone, or other tests' processes would have it too.
HERE = "ALTER ROLE CURRENT_USER IN DATABASE {} {} idle_in_transaction_session_timeout {}"


def alter_role(verb: str, value: str = "") -> None:
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(HERE.format(name, verb, value))


@pytest.fixture
def other() -> Iterator[DatabaseWrapper]:
    """Another connection, of a process that has not looked yet."""
    other = connection.copy()
    assert isinstance(other, DatabaseWrapper)
    connection.ensure_connection()
    DatabaseWrapper._was_looked_at = False
    yield other
    other.close()
    alter_role("RESET")
    DatabaseWrapper._was_looked_at = True


def warnings(other: DatabaseWrapper) -> list[str]:
    with capture_logs() as logs:
        other.connect()
    return [log["missing"] for log in logs]


def test_whoever_migrates_is_given_it(other: DatabaseWrapper) -> None:
    assert warnings(other) == []
    assert other.limits_pauses()


@pytest.mark.parametrize("limit", ["0", "1h"])
def test_a_process_warns_once_where_it_is_missing_and_says_what_to_do(other: DatabaseWrapper, limit: str) -> None:
    alter_role("SET", f"= '{limit}'")
    assert warnings(other) == [LIMIT_PAUSES]
    other.close()
    assert warnings(other) == []
