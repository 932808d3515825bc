"""An installation that is older than logins and seals is taken along."""

from collections.abc import Iterator

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.auditchain import verify_audit_log

BEFORE = [("accounts", "0004_branding")]

pytestmark = pytest.mark.django_db(transaction=True)


def migrate(targets: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(targets)


@pytest.fixture
def older() -> Iterator[None]:
    """The tables as they were; at the end all is as it is now."""
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    migrate(BEFORE)
    yield
    migrate(newest)


def test_people_can_log_in_and_entries_are_sealed(older: None) -> None:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes("accounts")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_user (public_id, email, password, name, is_active, is_staff, is_superuser, created_at)"
            " VALUES ('usr_1', 'ada@example.test', '!', '', true, false, false, now())"
        )
        for action in ("first", "second"):
            cursor.execute(
                "INSERT INTO accounts_auditentry (actor_label, action, object_id, created_at)"
                " VALUES ('system', %s, '', now())",
                [action],
            )
    migrate(newest)
    address = EmailAddress.objects.get()
    assert (address.email, address.verified, address.primary) == (
        "ada@example.test",
        True,
        True,
    )
    report = verify_audit_log()
    assert (report.entries, report.faults) == (2, [])
