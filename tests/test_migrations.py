"""Every migration after the first of its app is marked, and its SQL stops no release that still runs (squawk)."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.management import call_command
from django.db.migrations import Migration

from gateway.releases.stages import contracts, our_migrations, problems
from tests.exhaustive import EXHAUSTIVE

SQUAWK: Final = Path(sys.executable).with_name("squawk")
PASSED_OVER: Final = {
    "require-lock-timeout": "`manage.py schema expand` sets it around each migration",
    "require-statement-timeout": "a statement that has its lock is cheap, or the other rules complain of it",
    "prefer-text-field": "Django's CharField",
    "prefer-robust-stmts": "Django writes no IF NOT EXISTS, and applies each migration in a transaction",
}
NEWEST: Final = 3
"""So many migrations of an app are judged by day: more than a change adds."""

REMOVING: Final = ("ban-drop-column", "ban-drop-table")
"""What a migration that contracts is for."""

DELIBERATE: Final = {
    # A table that is divided takes its name in the same transaction, and gives both their ids. test_old_release writes to it.
    "webhooks.0004_attempt_partitions": ("renaming-table", "ban-alter-identity", "ban-drop-constraint"),
    # Secrets are few: one for each merchant. The release before asks for them by merchant, and never finds one that has none.
    # The wider list of statuses is validated by the next migration.
    "webhooks.0006_listed_endpoints": (
        "adding-foreign-key-constraint",
        "ban-drop-constraint",
        "ban-drop-not-null",
        "constraint-missing-not-valid",
        "disallowed-unique-constraint",
        "require-concurrent-index-creation",
    ),
    # A longer limit of a text rewrites no row and no index.
    "webhooks.0008_longer_subjects": ("changing-column-type",),
    # Keys are few, and read once in some seconds by each process: the rows are checked within milliseconds.
    "accounts.0002_key_scopes": (
        "adding-foreign-key-constraint",
        "disallowed-unique-constraint",
        "constraint-missing-not-valid",
    ),
    # A status, a day's place and milliseconds fit, and the table has a row for each request.
    "accounts.0003_api_requests": ("prefer-bigint-over-smallint", "prefer-bigint-over-int"),
    "accounts.0005_idempotency_keys": ("prefer-bigint-over-smallint",),  # An HTTP status.
    # The release before writes a person in each row, and reads none that has nobody: those are about refunds.
    "wallets.0012_refund_proofs": ("ban-drop-not-null",),
    # The table is new in this release: it has no row but those of an upgrade that was begun.
    "payouts.0008_payer_proofs": ("constraint-missing-not-valid",),
    "payouts.0010_recipients": ("constraint-missing-not-valid",),
    "payouts.0006_noted_refunds": ("constraint-missing-not-valid", "ban-drop-constraint"),
    # Dropped only where an attempt was broken off.
    # Terminals are few, and no release that runs writes their links.
    "checkouts.0014_till_currency_and_pin": ("require-concurrent-index-creation", "disallowed-unique-constraint"),
    "settlements.0005_shares": ("ban-drop-constraint",),
    "x402.0005_most_units": ("ban-drop-constraint",),
    "accounts.0006_payout_approvals": (
        "prefer-bigint-over-smallint",
        "constraint-missing-not-valid",
    ),  # One or two; few rows.
}
"""What a migration breaks, for a reason, although no release that runs is stopped."""


def complaints(sql: str, *, passed_over: Sequence[str] = ()) -> list[str]:
    """The names of the rules that squawk finds broken in a migration's SQL."""
    argv = [
        str(SQUAWK),
        "--pg-version=18",
        "--reporter=json",
        f"--exclude={','.join([*PASSED_OVER, *passed_over])}",
        "--stdin-filepath=migration.sql",
    ]
    told = subprocess.run(argv, input=sql, capture_output=True, text=True, check=False)
    assert told.returncode in {0, 1}, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return [str(one["rule_name"]) for one in found]


def sql_of(migration: Migration) -> str:
    """What a migration tells the database."""
    output = StringIO()
    call_command("sqlmigrate", migration.app_label, migration.name, stdout=output)
    return output.getvalue()


def to_judge() -> list[Migration]:
    """By day the newest of each app: what was judged when it was new does not change."""
    newest: dict[str, list[Migration]] = defaultdict(list)
    for migration in sorted(our_migrations(), key=str):
        newest[migration.app_label].append(migration)
    return [each for own in newest.values() for each in (own if EXHAUSTIVE else own[-NEWEST:])]


@pytest.mark.parametrize("migration", to_judge(), ids=str)
def test_each_migration_stops_no_release_that_runs(migration: Migration, db: None) -> None:
    expected = REMOVING if contracts(migration) else ()
    passed_over = (*expected, *DELIBERATE.get(str(migration), ()))
    assert complaints(sql_of(migration), passed_over=passed_over) == []


def test_there_are_migrations_and_each_has_a_stage() -> None:
    migrations = our_migrations()
    assert "settlements.0002_gas_accounts_retire" in map(str, migrations)
    assert list(problems(migrations)) == []


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("ALTER TABLE t DROP COLUMN a;", "ban-drop-column"),
        ("ALTER TABLE t RENAME COLUMN a TO b;", "renaming-column"),
        ("ALTER TABLE t ADD COLUMN a integer NOT NULL;", "adding-required-field"),
        ("ALTER TABLE t ALTER COLUMN a TYPE bigint;", "changing-column-type"),
        ("ALTER TABLE t ALTER COLUMN a SET NOT NULL;", "adding-not-nullable-field"),
        ("CREATE INDEX i ON t (a);", "require-concurrent-index-creation"),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0);", "constraint-missing-not-valid"),
    ],
)
def test_a_change_that_stops_the_release_before_is_found(statement: str, rule: str) -> None:
    assert rule in complaints(f"BEGIN;\n{statement}\nCOMMIT;")


def test_dropping_is_for_migrations_that_contract() -> None:
    assert complaints("ALTER TABLE t DROP COLUMN a;", passed_over=REMOVING) == []
