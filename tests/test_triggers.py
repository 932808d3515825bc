"""docs/diagrams/tables.md lists every trigger of the database, where it is declared, and the invariant that it carries."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from django.db import connection

from tests.test_invariants import ROWS
from tests.tree import ROOT

LINE: Final = re.compile(r"\| `(?P<file>\S+triggers\.sql)` \| (?P<names>.+) \| (.+) \|")
DECLARED: Final = re.compile(r"^CREATE (?:CONSTRAINT )?TRIGGER (\w+)", re.MULTILINE)


class Listed(NamedTuple):
    """A trigger as the document has it."""

    name: str
    file: str
    carries: str


def listed(text: str) -> Iterator[Listed]:
    """Yield the triggers of a table."""
    for file, names, carries in LINE.findall(text):
        for name in re.findall(r"`(\w+)`", names):
            yield Listed(name, file, carries)


TABLE: Final = sorted(listed((ROOT / "docs/diagrams/tables.md").read_text()))


@pytest.mark.django_db
def test_every_trigger_of_the_database_is_listed_once() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        there = sorted(name for (name,) in cursor.fetchall())
    assert [trigger.name for trigger in TABLE] == there


def test_each_is_declared_where_the_list_says() -> None:
    declared = {
        (name, str(path.relative_to(ROOT)))
        for kind in ("*/triggers.sql", "*/models/triggers.sql")
        for path in ROOT.glob(kind)
        for name in DECLARED.findall(path.read_text())
    }
    assert {(trigger.name, trigger.file) for trigger in TABLE} == declared


def test_each_carries_what_the_table_of_invariants_says() -> None:
    carried = {(name, row.sentence) for row in ROWS for kind, name in row.carriers if kind == "trigger"}
    assert {(trigger.name, trigger.carries) for trigger in TABLE} == carried


def test_a_list_that_lacks_one_differs() -> None:
    text = "| `a/triggers.sql` | `one`, `two` | All is well. |"
    assert [trigger.name for trigger in listed(text)] == ["one", "two"]
