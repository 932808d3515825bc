"""Judging a page by axe-core, the rules of WCAG that a machine can check."""

from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.tree import ROOT

_PROGRAM = ROOT / "node_modules" / "axe-core" / "axe.min.js"


@cache
def _program() -> str:
    assert _PROGRAM.is_file(), "no axe-core: run script/test once, or npm install"
    return _PROGRAM.read_text()


def violations(page: Page) -> list[str]:
    """What axe-core finds on the page: each rule, the first element that breaks it, and why."""
    # Evaluated from outside the page, which its policy does not forbid.
    page.evaluate(_program())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [_sentence(violation) for violation in found["violations"]]


def _sentence(violation: dict[str, Any]) -> str:
    [first, *rest] = violation["nodes"]
    more = f" and {len(rest)} more" if rest else ""
    return f"{violation['id']}: {first['target'][0]}{more}: {first['failureSummary']}"
