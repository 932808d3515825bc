"""The documentation's pages: whole, linked, at their addresses."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gateway.docs.pages import sections
from tests.tree import ROOT

pytestmark = pytest.mark.django_db


def test_every_guide_is_a_page_and_in_the_menu() -> None:
    listed = {page.read().splitlines()[0] for _, found in sections() for page in found}
    guides = {path: path.read_text().splitlines()[0] for path in sorted((ROOT / "docs" / "guide").glob("*.md"))}
    assert {path.name for path, title in guides.items() if title not in listed} == set()


def test_each_link_leads_to_a_page_and_to_a_heading_of_it(docs_pages: dict[str, str]) -> None:
    anchors = {address: set(re.findall(r'id="([^"]+)"', html)) for address, html in docs_pages.items()}
    dead = []
    for address, html in docs_pages.items():
        for target in re.findall(r'<a [^>]*?href="([^"]+)"', html):
            path, _, anchor = target.partition("#")
            path = path or address
            if path in anchors:
                if anchor and anchor not in anchors[path]:
                    dead.append((address, target))
            elif path.startswith("/docs/") and not path.endswith((".md", ".xml")):
                dead.append((address, target))
    assert dead == []


def test_no_page_asks_another_host_for_anything(docs_pages: dict[str, str]) -> None:
    asked = {
        target
        for html in docs_pages.values()
        for target in re.findall(r'<(?:script|link|img|iframe)[^>]* (?:src|href)="([^"]+)', html)
        if urlsplit(target).netloc
    }
    assert asked == set()


def test_no_page_has_a_script_or_a_style_of_its_own(docs_pages: dict[str, str]) -> None:
    found = [
        address
        for address, html in docs_pages.items()
        if re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=\"", html)
    ]
    assert found == []


@pytest.mark.parametrize("guide", sorted((ROOT / "docs" / "guide").glob("*.md")), ids=lambda guide: guide.stem)
def test_a_guide_begins_with_what_its_reader_will_have_and_ends_with_the_next_step(guide: Path) -> None:
    title, lead, *_, last = guide.read_text().split("\n\n")
    assert title.startswith("# ")
    assert re.match(r"(At the end of|After) this page |In five minutes you have ", lead)
    assert re.search(r"\]\([\w./#-]+\)", last)
    assert re.search(r"^(## Next|Next: .*)$", guide.read_text(), re.MULTILINE)
