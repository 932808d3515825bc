"""Which migrations may run beside the processes of the release before, and what a release needs to run again."""

from typing import Any

import pytest
from django.db import connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation

from gateway.releases.stages import EXEMPT, expand_plan, missing_for, our_migrations, problems

RETIRING = ("settlements", "0008_paid_relays")


def told(*operations: Operation, **marks: str) -> list[str]:
    """What is wrong with a migration of these operations and marks."""
    made = type("Migration", (migrations.Migration,), {"operations": operations})
    migration = made("0002_change", "wallets")
    for name, value in marks.items():
        setattr(migration, name, value)
    return list(problems([migration]))


def test_a_migration_without_a_stage_is_named() -> None:
    assert told() == ["wallets.0002_change has no stage: write expand or contract"]
    assert told(stage="later") == told()
    assert told(stage="expand") == []


def test_only_the_first_migration_of_an_app_needs_no_stage() -> None:
    assert set(EXEMPT) == {"0001_initial"}
    assert {migration.name for migration in our_migrations()}.isdisjoint(EXEMPT)
    assert "auth" not in {migration.app_label for migration in our_migrations()}


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("transfer", "labels"),
        migrations.DeleteModel("Block"),
        migrations.RenameField("transfer", "labels", "notes"),
        migrations.RenameModel("Block", "Head"),
        migrations.AlterModelTable("Block", "heads"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_the_release_before_uses_may_not_go_while_it_runs(operation: Operation) -> None:
    assert len(told(operation, stage="expand")) == 1
    assert told(operation, stage="contract", unused_since="0.24.0") == []


@pytest.mark.parametrize(
    ("field", "is_fine"),
    [
        (models.IntegerField(null=True), True),
        (models.IntegerField(db_default=0), True),
        # Django drops a default of Python's after it filled the rows that there are.
        (models.IntegerField(default=0), False),
        (models.IntegerField(), False),
    ],
)
def test_the_release_before_inserts_rows_without_a_new_column(field: Any, is_fine: bool) -> None:
    operation = migrations.AddField("block", "size", field)
    assert (told(operation, stage="expand") == []) is is_fine


@pytest.mark.parametrize("since", ["", "soon", "0.26.0", "1.0.0"])
def test_what_the_release_before_still_uses_goes_one_release_later(since: str, settings: Any) -> None:
    settings.SERVICE_VERSION = "0.26.0"
    assert len(told(stage="contract", unused_since=since)) == 1
    settings.SERVICE_VERSION = "1.0.1"
    assert bool(told(stage="contract", unused_since=since)) is not since[:1].isdigit()


def contracting(unused_since: str) -> MigrationExecutor:
    """An executor for which a migration removes something, and is not applied."""
    executor = MigrationExecutor(connection)
    migration: Any = executor.loader.graph.nodes[RETIRING]
    migration.stage, migration.unused_since = "contract", unused_since
    return executor


@pytest.mark.django_db
def test_an_upgrade_leaves_contracting_migrations_for_later() -> None:
    executor = contracting("0.25.0")
    assert expand_plan(executor) == []
    del executor.loader.applied_migrations[RETIRING]
    assert expand_plan(executor) == []
    migration: Any = executor.loader.graph.nodes[RETIRING]
    migration.stage = "expand"
    assert list(map(str, expand_plan(executor))) == [".".join(RETIRING)]


@pytest.mark.django_db
def test_what_needs_a_contracting_migration_waits_with_it() -> None:
    executor = contracting("0.25.0")
    graph = executor.loader.graph
    del executor.loader.applied_migrations[RETIRING]
    after = migrations.Migration("0002_later", "links")
    graph.add_node(("links", "0002_later"), after)
    graph.add_dependency(after, ("links", "0002_later"), ("links", "0001_initial"))
    assert expand_plan(executor) == [after]
    graph.add_dependency(after, ("links", "0002_later"), RETIRING)
    assert expand_plan(executor) == []


@pytest.mark.django_db
def test_a_release_does_not_run_without_what_it_uses() -> None:
    executor = contracting("0.25.0")
    assert missing_for("0.25.0", executor) == []
    assert missing_for("0.24.9", executor) == [".".join(RETIRING)]
    del executor.loader.applied_migrations[RETIRING]
    assert missing_for("0.24.9", executor) == []
    with pytest.raises(ValueError, match="invalid literal"):
        missing_for("yesterday", executor)
