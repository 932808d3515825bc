"""Mutations: what a text offers, how one is found again, and that only the named function changes."""

import ast

import pytest

from gateway.core import money
from tests.mutations.operators import Mutation, find, offered
from tests.mutations.plugin import ROOT, Change


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("if a < b: f()", {"a < b → a <= b", "f() → pass"}),
        ("if a: raise E", {"a → not a", "raise E → pass"}),
        ("return a and not b", {"a and (not b) → a or not b", "not b → b"}),
        ("return a + 1", {"a + 1 → a - 1", "1 → 2"}),
        ("return a[0]", set()),
        ("log.info('told')", set()),
        (
            "q('SELECT 1 FROM t WHERE a IS NULL AND b < c')",
            {
                "q('SELECT 1 FROM t WHERE a IS NULL AND b < c') → pass",
                "'SELECT 1 FROM t WHERE a IS NULL AND b < c' → 'SELECT 1 FROM t WHERE a IS NULL OR b < c'",
                "'SELECT 1 FROM t WHERE a IS NULL AND b < c' → 'SELECT 1 FROM t WHERE a IS NOT NULL AND b < c'",
                "'SELECT 1 FROM t WHERE a IS NULL AND b < c' → 'SELECT 1 FROM t WHERE a IS NULL AND b <= c'",
            },
        ),
    ],
)
def test_a_line_offers_its_comparisons_conditions_calls_and_sql(line: str, changes: set[str]) -> None:
    found = offered("", "m.py", ast.parse(f"def f(a, b=1 < 2):\n    {line}"))
    assert {f"{one.before} → {one.after}" for one in found} == changes


def test_of_equal_places_each_is_found_again_after_lines_have_moved() -> None:
    text = "class A:\n    def f(self):\n        return x < 1, x < 1"
    first, second = (m for m in offered("", "m.py", ast.parse(text)) if m.after == "x <= 1")
    assert (first.place, second.place) == (0, 1)
    moved = ast.parse("import y\n\n\n" + text)
    assert find(first, moved)
    assert find(second, moved)
    assert find(Mutation("", "m.py", "A.g", "x < 1", "x <= 1", 0), moved) is None


def test_a_change_applies_to_the_running_function_and_is_taken_back() -> None:
    mutation = next(
        m
        for m in offered("money", "gateway/core/money.py", ast.parse((ROOT / "gateway/core/money.py").read_text()))
        if m.unit == "to_units"
    )
    change, before = Change(mutation), money.to_units.__code__
    with change.applied():
        assert money.to_units.__code__ is not before
    assert money.to_units.__code__ is before
