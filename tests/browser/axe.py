"""Judging a page by axe-core, the rules of WCAG that a machine can check."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.tree import ROOT

ALL: Sequence[str] = ()
"""Every rule."""

COLOURS = ("color-contrast",)
"""The rules whose answer follows the colour scheme; the page's structure is the same in each."""

_PROGRAM = ROOT / "node_modules" / "axe-core" / "axe.min.js"


@cache
def _program() -> str:
    assert _PROGRAM.is_file(), "no axe-core: run script/test once, or npm install"
    return _PROGRAM.read_text()


def violations(page: Page, *, rules: Sequence[str] = ALL) -> list[str]:
    """What axe-core finds on the page by all rules or by these: each rule, the first element that breaks it, and why."""
    if not page.evaluate("'axe' in window"):
        # Evaluated from outside the page, which its policy does not forbid.
        page.evaluate(_program())
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = page.evaluate("options => axe.run(document, options)", options)
    return [_sentence(violation) for violation in found["violations"]]


def _sentence(violation: dict[str, Any]) -> str:
    [first, *rest] = violation["nodes"]
    more = f" and {len(rest)} more" if rest else ""
    return f"{violation['id']}: {first['target'][0]}{more}: {first['failureSummary']}"
