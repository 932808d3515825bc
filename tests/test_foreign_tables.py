"""SQL writes to the tables of its own app: for another one's, the owner has a service, or text to put into a statement."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.apps import apps

from tests.tree import ROOT, repository_files

OWNERS: Final = {model._meta.db_table: model.__module__.partition(".")[0] for model in apps.get_models()}
PACKAGES: Final = set(OWNERS.values())
WRITES: Final = re.compile(
    r"""\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE|ALTER\s+TABLE)\s+(?:ONLY\s+)?"?(\w+)""",
    re.IGNORECASE,
)


def foreign_tables(package: str, source: str) -> Iterator[str]:
    """Yield the tables of others that SQL in a package's file writes to."""
    for table in WRITES.findall(source):
        if OWNERS.get(table, package) != package:
            yield table


def test_sql_writes_to_no_table_of_another_app() -> None:
    files = [path.relative_to(ROOT) for path in _sources()]
    found = {
        str(path): tables for path in files if (tables := [*foreign_tables(path.parts[0], (ROOT / path).read_text())])
    }
    assert found == {}
    assert Path("checkouts/creation/service.py") in files


def _sources() -> Iterator[Path]:
    for suffix in (".py", ".sql"):
        for path in repository_files(suffix):
            if path.relative_to(ROOT).parts[0] in PACKAGES:
                yield path


def test_another_apps_table_is_found_and_an_own_one_is_not() -> None:
    source = """
        INSERT INTO checkouts_payment (id) SELECT 1;
        WITH claimed AS (INSERT INTO wallets_transferclaim (kind) SELECT 'x')
        update "mails_outgoingmail" SET tries = 0;
        SELECT FROM wallets_transfer t FOR UPDATE OF t
        ON CONFLICT (id) DO UPDATE SET value = 1
    """
    found = [*foreign_tables("checkouts", source)]
    assert found == ["wallets_transferclaim", "mails_outgoingmail"]
