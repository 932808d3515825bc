"""The table of invariants is true: what it names exists, is in the standard run, and no control is missing from it."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from django.db import connection

from tests.invariants.test_triggers import KEPT
from tests.invariants.twins import REFUSED
from tests.tree import ROOT

TABLE: Final = ROOT / "tests" / "INVARIANTS.md"
HEADER: Final = ["No.", "Invariant", "Carried by", "Test", "Control"]
MOST_WORDS: Final = 20
CARRIERS: Final = {"constraint", "trigger", "lock", "code"}
OUTSIDE: Final = {"skip", "skipif", "xfail", "exhaustive", "night"}
"""Marks of tests that the standard run leaves out, or whose failure it does not tell."""
CONTROL_NAME: Final = re.compile(
    r"test_without_(.*_)?(lock|constraint|trigger|fence|look|(unique|claims|and)_key|would)(_|$)"
    r"|test_.*_(oracle|hammer)_sees_|test_the_(fuzz|machine)_finds_"
)
CONTROL_WORDS: Final = re.compile(r"\bcontrols?\b", re.IGNORECASE)
CONTROL_TEXT: Final = re.compile(
    r"def test_(without|the_fuzz_finds|the_machine_finds)_|_(oracle|hammer)_sees_|\bcontrols?\b", re.IGNORECASE
)
"""Each module that has a control has some of this. Parsing all of them takes long."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Row:
    """A row of the table. `number` is ARCHITECTURE.md's, None for an invariant that it does not name."""

    number: int | None
    sentence: str
    carriers: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    controls: tuple[str, ...]


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of all tables. Raises AssertionError at a row that has not the table's form."""
    for line in text.splitlines():
        if not line.startswith("|") or set(line) <= set("|- "):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells == HEADER:
            continue
        assert len(cells) == len(HEADER), line
        number, sentence, carried, tests, controls = cells
        yield Row(
            None if number == "–" else int(number),
            sentence,
            tuple(re.findall(r"(\w+) `([^`]+)`", carried)),
            tuple(re.findall(r"`([^`]+)`", tests)),
            tuple(re.findall(r"`([^`]+)`", controls)),
        )


def mistakes_of_form(row: Row) -> Iterator[str]:
    """Yield what a row lacks."""
    if not 0 < len(row.sentence.split()) <= MOST_WORDS:
        yield f"not a sentence of {MOST_WORDS} words at most"
    if not (row.tests and row.controls):
        yield "without a test or a control"
    kinds = {kind for kind, _ in row.carriers}
    if not kinds or kinds - CARRIERS:
        yield f"carried by none of {sorted(CARRIERS)}"


@cache
def parsed(path: Path) -> ast.Module:
    """Return a module of the tree."""
    return ast.parse(path.read_text())


def functions_of(module: ast.Module) -> dict[str, list[ast.AST]]:
    """Return the tests that pytest collects whatever a setting says, each after the class and the module it stands in."""
    found: dict[str, list[ast.AST]] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name.startswith("test_"):
                    found[f"{node.name}::{inner.name}"] = [module, node, inner]
        if isinstance(node, Function) and node.name.startswith("test_"):
            found[node.name] = [module, node]
    return found


def mistakes_of_test(node_id: str, root: Path = ROOT) -> Iterator[str]:
    """Yield why a test is not in the standard run: it does not exist, it is marked, or it decides so itself."""
    name, _, function = node_id.partition("::")
    path = root / name
    if not (path.name.startswith("test_") and path.is_file()):
        yield f"{node_id}: no such module"
        return
    places = functions_of(parsed(path)).get(function)
    if places is None:
        yield f"{node_id}: no such test"
        return
    for mark in sorted(_marks(places) & OUTSIDE):
        yield f"{node_id}: {mark}"
    for reason in _ways_out(places[-1]):
        yield f"{node_id}: {reason}"


def _marks(places: Iterable[ast.AST]) -> set[str]:
    """Return names in decorators and `pytestmark` of a test, its class and its module."""
    parts: list[ast.AST] = []
    for place in places:
        parts += getattr(place, "decorator_list", [])
        parts += [
            inner.value
            for inner in getattr(place, "body", [])
            if isinstance(inner, ast.Assign) and any(getattr(to, "id", "") == "pytestmark" for to in inner.targets)
        ]
    return {_name(node) for part in parts for node in ast.walk(part)}


def _ways_out(function: ast.AST) -> Iterator[str]:
    """Yield the ways in which a test leaves itself out: it skips, or does or is given nothing unless EXHAUSTIVE."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _name(node.func) in OUTSIDE | {"importorskip"}:
            yield f"calls {_name(node.func)}"
        if isinstance(node, ast.If) and _is_exhaustive(node.test):
            yield "does something only if EXHAUSTIVE"
        if isinstance(node, ast.IfExp) and _is_exhaustive(node.test) and not getattr(node.orelse, "elts", [1]):
            yield "has no case unless EXHAUSTIVE"


def _is_exhaustive(condition: ast.AST) -> bool:
    return any(_name(node) == "EXHAUSTIVE" for node in ast.walk(condition))


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def is_control(name: str, places: list[ast.AST]) -> bool:
    """Say whether a test's name or docstring, or its module's, calls it a control."""
    module, function = places[0], places[-1]
    assert isinstance(module, ast.Module)
    assert isinstance(function, Function)
    return bool(
        CONTROL_NAME.match(name.rpartition("::")[2])
        or CONTROL_WORDS.search(ast.get_docstring(function) or "")
        or (ast.get_docstring(module) or "").startswith("Negative controls")
    )


def controls_of(root: Path) -> set[str]:
    """Return the node ids of all controls in the tree."""
    return {
        f"{path.relative_to(root).as_posix()}::{name}"
        for folder in (root / "tests", root / "clients")
        for path in folder.rglob("test_*.py")
        if CONTROL_TEXT.search(path.read_text())
        for name, places in functions_of(parsed(path)).items()
        if is_control(name, places)
    }


def numbers_of_architecture() -> set[int]:
    """Return the numbers of the invariants in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("\n## Invariants\n")[2].partition("\n## ")[0]
    return {int(number) for number in re.findall(r"^(\d+)\. ", section, re.MULTILINE)}


def is_code(name: str) -> bool:
    """Say whether a path is there, and defines what follows `::`."""
    path, _, attribute = name.partition("::")
    if not attribute:
        return (ROOT / path).exists()
    module = parsed(ROOT / path)
    assigned = {
        getattr(target, "id", "")
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in getattr(node, "targets", [getattr(node, "target", None)])
    }
    return attribute in assigned | {getattr(node, "name", "") for node in module.body}


def names_in_database(statement: str) -> set[str]:
    """Return the first column of what the database answers."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return {name for (name,) in cursor}


def named(kind: str) -> set[str]:
    """Return all carriers of a kind that the table names."""
    return {name for row in ROWS for what, name in row.carriers if what == kind}


ROWS: Final = list(rows_of(TABLE.read_text()))
LISTED: Final = {node_id for row in ROWS for node_id in (*row.tests, *row.controls)}


def test_every_row_has_a_sentence_a_carrier_a_test_and_a_control() -> None:
    assert ROWS
    assert {row.sentence: list(mistakes_of_form(row)) for row in ROWS if [*mistakes_of_form(row)]} == {}


def test_every_test_of_the_table_is_in_the_standard_run() -> None:
    assert [wrong for one in sorted(LISTED) for wrong in mistakes_of_test(one)] == []


def test_the_numbers_are_those_of_the_architecture() -> None:
    assert numbers_of_architecture()
    assert {row.number for row in ROWS} - {None} == numbers_of_architecture()


def test_every_control_of_the_tree_is_in_the_table() -> None:
    listed = {node_id for row in ROWS for node_id in row.controls}
    assert sorted(controls_of(ROOT) - listed) == []


def test_locks_and_code_that_carry_an_invariant_exist() -> None:
    assert [one for one in sorted(named("lock") | named("code")) if not is_code(one)] == []


@pytest.mark.django_db
def test_constraints_and_triggers_are_in_the_database_and_each_trigger_is_listed() -> None:
    constraints = names_in_database(
        "SELECT conname FROM pg_constraint UNION SELECT indexrelid::regclass::text FROM pg_index WHERE indisunique"
    )
    triggers = names_in_database("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
    assert sorted(named("constraint") - constraints) == []
    assert named("trigger") == triggers


def test_what_is_taken_away_one_by_one_is_listed() -> None:
    assert sorted(REFUSED.keys() - named("constraint")) == []
    assert sorted(KEPT.keys() - named("trigger")) == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def test_other(): pass", "no such test"),
        ("def helper():\n    def test_it(): pass", "no such test"),
        ("if EXHAUSTIVE:\n    def test_it(): pass", "no such test"),
        ("@pytest.mark.skip\ndef test_it(): pass", "skip"),
        ("@pytest.mark.xfail(reason='x')\ndef test_it(): pass", "xfail"),
        ("@pytest.mark.skipif(CI, reason='x')\ndef test_it(): pass", "skipif"),
        ("@pytest.mark.exhaustive\ndef test_it(): pass", "exhaustive"),
        ("@pytest.mark.night('late')\ndef test_it(): pass", "night"),
        ("@exhaustive\ndef test_it(): pass", "exhaustive"),
        ("pytestmark = [pytest.mark.exhaustive]\ndef test_it(): pass", "exhaustive"),
        ("def test_it():\n    pytest.skip('x')", "calls skip"),
        ("def test_it():\n    if not EXHAUSTIVE:\n        return", "only if EXHAUSTIVE"),
        ("@parametrize('x', [1] if EXHAUSTIVE else [])\ndef test_it(x): pass", "no case unless EXHAUSTIVE"),
    ],
)
def test_the_check_refuses_a_test_that_is_not_run(source: str, reason: str, tmp_path: Path) -> None:
    """The negative control of the check: each of these is found, and an ordinary test is not."""
    (tmp_path / "test_a.py").write_text(source)
    assert any(reason in wrong for wrong in mistakes_of_test("test_a.py::test_it", tmp_path))
    (tmp_path / "test_b.py").write_text("def test_it(): pass")
    assert list(mistakes_of_test("test_b.py::test_it", tmp_path)) == []
    assert list(mistakes_of_test("test_c.py::test_it", tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "| 1 | Nothing carries it. | | `a` | `b` |",
        "| 1 | It has no control. | code `x` | `a` | |",
        f"| 1 | {'word ' * 21}| code `x` | `a` | `b` |",
        "| 1 | It is carried by luck. | luck `x` | `a` | `b` |",
    ],
)
def test_the_check_refuses_a_row_that_says_too_little(line: str) -> None:
    """The negative control of the check of rows."""
    [row] = rows_of(line)
    assert list(mistakes_of_form(row))


def test_the_check_finds_a_control_that_is_not_listed(tmp_path: Path) -> None:
    """The negative control of the search: by its name, by its docstring, and by its module's."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_a.py").write_text(
        "def test_without_the_lock_two_pass(): pass\n"
        "def test_it():\n    'The negative control.'\n"
        "def test_without_a_wallet_the_form_says_so(): pass\n"
    )
    (folder / "test_b.py").write_text("'Negative controls.'\ndef test_it(): pass\n")
    assert controls_of(tmp_path) == {
        "tests/test_a.py::test_without_the_lock_two_pass",
        "tests/test_a.py::test_it",
        "tests/test_b.py::test_it",
    }
