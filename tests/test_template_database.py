"""The database of the tests is a copy of one that every migration made, and a changed migration makes a new one."""

from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import template_database
from tests.template_database import fingerprint


@pytest.mark.django_db
def test_the_copy_is_fully_migrated() -> None:
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert connection.settings_dict["NAME"] != template_database.TEMPLATE


def test_a_changed_migration_or_lock_file_makes_a_new_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements" / "dev.txt"
    lock.parent.mkdir()
    lock.write_text("django==5.2.19")
    monkeypatch.setattr(template_database, "ROOT", tmp_path)
    before = fingerprint()
    assert fingerprint() == before
    lock.write_text("django==5.2.20")
    assert fingerprint() != before


def test_every_app_with_tables_of_ours_is_in_the_fingerprint() -> None:
    apps = {path.parent.parent.name for path in template_database.migration_files()}
    assert {"accounts", "checkouts", "x402", "links", "wallets"} <= apps


@pytest.mark.django_db
def test_a_tests_own_transaction_may_be_idle_while_it_starts_a_node() -> None:
    """A process's may not, for more than some seconds; on a busy machine the server ended tests'."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("0",)
