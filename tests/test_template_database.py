"""The database of the tests is a copy of one that every migration made, and a changed migration makes a new one."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import template_database
from tests.template_database import another_copy, fingerprint


@pytest.mark.django_db
def test_the_copy_is_fully_migrated() -> None:
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    assert connection.settings_dict["NAME"] != template_database.TEMPLATE


def dump_of(database: str, file: Path) -> list[str]:
    assert template_database._tool("pg_dump", "--no-owner", "--file", str(file), database)
    # Two lines have a random word, for psql.
    return [line for line in file.read_text().splitlines() if not line.startswith("\\")]


@pytest.mark.django_db
def test_a_template_of_a_dump_is_like_the_one_that_was_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated = dump_of(template_database.TEMPLATE, tmp_path / "migrated.sql")
    monkeypatch.setattr(template_database, "KEPT", tmp_path)
    kept = tmp_path / "some.dump"
    template_database._keep(kept)
    with another_copy("restored") as url, connection._nodb_cursor() as server:
        restored = urlsplit(url).path.removeprefix("/")
        monkeypatch.setattr(template_database, "TEMPLATE", restored)
        assert template_database._is_restored(server, kept)
        assert dump_of(restored, tmp_path / "restored.sql") == migrated
    assert len(migrated) > 1_000


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
