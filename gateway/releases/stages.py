"""Stages of migrations: `expand` adds what the release before can do without, `contract` removes what it no longer uses.

An upgrade applies expand migrations while the old processes run, and contract migrations once all of them are gone
(decision 23). A migration names its stage as a class attribute. One that contracts also names `unused_since`: the first
release that no longer uses what it removes.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from django.apps import apps
from django.conf import settings
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import (
    AddField,
    AlterModelTable,
    DeleteModel,
    RemoveField,
    RenameField,
    RenameModel,
)
from django.db.models import NOT_PROVIDED

Key = tuple[str, str]
"""A migration's app and name."""

EXEMPT: Final[Mapping[str, str]] = {
    "0001_initial": "It makes the tables of a new database, on which no release runs yet."
}
"""Migrations that need no stage, by name in each of our apps, with the reason."""

_REMOVES: Final = (RemoveField, DeleteModel, RenameField, RenameModel, AlterModelTable)


class MigrationStage(StrEnum):
    """When an upgrade applies a migration."""

    EXPAND = "expand"
    CONTRACT = "contract"


def version(text: str) -> tuple[int, ...]:
    """Return a release's number, to be compared. Raises ValueError."""
    return tuple(int(part) for part in text.split("."))


def contracts(migration: Migration) -> bool:
    """Whether a migration must wait until the old processes are gone."""
    return getattr(migration, "stage", None) == MigrationStage.CONTRACT


def our_migrations() -> list[Migration]:
    """Return the migrations of our own apps that need a stage, by app and name."""
    ours = {app.label for app in apps.get_app_configs() if Path(app.path).parent == settings.BASE_DIR}
    nodes: Mapping[Key, Migration] = MigrationLoader(None).graph.nodes
    return [nodes[key] for key in sorted(nodes) if key[0] in ours and key[1] not in EXEMPT]


def problems(migrations: Iterable[Migration]) -> Iterator[str]:
    """Say what is wrong with the stages of migrations."""
    for migration in migrations:
        found = _contract_problems(migration) if contracts(migration) else _expand_problems(migration)
        for problem in found:
            yield f"{migration} {problem}"


def _contract_problems(migration: Migration) -> Iterator[str]:
    told = getattr(migration, "unused_since", "")
    try:
        is_early = version(told) >= version(settings.SERVICE_VERSION)
    except ValueError:
        yield "must name the release that no longer uses what it removes, as unused_since"
        return
    if is_early:
        yield f"must wait for a release after {told}, so that a rollback can return to that one"


def _expand_problems(migration: Migration) -> Iterator[str]:
    if getattr(migration, "stage", None) != MigrationStage.EXPAND:
        yield "has no stage: write expand or contract"
        return
    for operation in migration.operations:
        if isinstance(operation, _REMOVES):
            yield f"expands, but has {type(operation).__name__}"
        elif isinstance(operation, AddField) and not _may_be_left_out(operation):
            yield f"adds {operation.name}, which the release before leaves out: make it null or give it a db_default"


def _may_be_left_out(operation: AddField) -> bool:
    field = operation.field
    return field.many_to_many or field.null or field.db_default is not NOT_PROVIDED


def expand_plan(executor: MigrationExecutor) -> list[Migration]:
    """Return the unapplied migrations that may be applied beside old processes: none that contracts, or needs one that does."""
    graph = executor.loader.graph
    held: set[Key] = set()
    plan = []
    for migration, _ in executor.migration_plan(graph.leaf_nodes()):
        key = (migration.app_label, migration.name)
        needed = {parent.key for parent in graph.node_map[key].parents}
        if contracts(migration) or needed & held:
            held.add(key)
        else:
            plan.append(migration)
    return plan


def missing_for(release: str, executor: MigrationExecutor) -> list[str]:
    """Return the applied migrations that removed what a release still uses. Raises ValueError for what is no release."""
    wanted = version(release)
    nodes: Mapping[Key, Migration] = executor.loader.graph.nodes
    applied = sorted(set(executor.loader.applied_migrations) & set(nodes))
    return [
        str(nodes[key])
        for key in applied
        if contracts(nodes[key]) and version(nodes[key].unused_since) > wanted  # type: ignore[attr-defined]
    ]
