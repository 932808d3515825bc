"""Styles as they travel: smaller, and with the same rules for a browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from gateway.core.web.compact import compact_css
from tests.tree import ROOT

pytestmark = pytest.mark.browser
SHEETS = sorted((ROOT / "static" / "css").glob("*.css"))
# A value with a variable or an env() in it is kept as it is written; how many spaces part its words says nothing.
RULES = """(text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return [...sheet.cssRules].map((rule) => rule.cssText.replaceAll(/\\s+/g, " ").replaceAll(/ ?, ?/g, ","));
}"""


def test_a_browser_reads_the_same_rules(open_context: Callable[..., BrowserContext]) -> None:
    page = open_context().new_page()

    def rules(text: str) -> list[str]:
        found: list[str] = page.evaluate(RULES, text)
        return found

    def changed(sheet: Path) -> bool:
        text = sheet.read_text()
        return rules(compact_css(text)) != rules(text) or not rules(text)

    assert [sheet.name for sheet in SHEETS if changed(sheet)] == []
