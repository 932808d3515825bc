"""The changelog as a feed."""

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client

from gateway.docs.changes import releases
from tests.gateway.docs.addresses import get
from tests.tree import ROOT

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def feed() -> ElementTree.Element:
    return ElementTree.fromstring(get("/docs/changelog.xml"))


def test_each_release_of_the_changelog_is_an_entry() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    titles = [entry.findtext(f"{ATOM}title") for entry in feed().iter(f"{ATOM}entry")]
    assert titles == [f"Florin {heading}" for heading in headings]
    assert titles


def test_an_entry_leads_to_its_heading_and_has_the_changes_with_whole_links(docs_pages: dict[str, str]) -> None:
    for entry in feed().iter(f"{ATOM}entry"):
        link = entry.find(f"{ATOM}link")
        assert link is not None
        page, _, anchor = link.attrib["href"].partition("#")
        html = docs_pages[page.removeprefix(settings.BASE_URL)]
        assert f'id="{anchor}"' in html
        changes = entry.findtext(f"{ATOM}summary") or ""
        targets = re.findall(r'href="([^"]+)"', changes)
        assert targets
        assert all("://" in target for target in targets)


def test_a_release_has_its_date_and_an_unreleased_one_a_date_that_stays() -> None:
    text = "# C\n\n## 2.0 (unreleased)\n\n- new\n\n## 1.0 (2026-05-04)\n\n- old\n"
    [first, second] = releases(text)
    assert (first.version, first.text.strip()) == ("2.0", "- new")
    assert second.made_at == datetime(2026, 5, 4, tzinfo=UTC)
    assert [first, second] == list(releases(text))
    assert feed().findtext(f"{ATOM}updated") == feed().findtext(f"{ATOM}updated")


def test_each_page_names_the_feed(docs_pages: dict[str, str]) -> None:
    missing = [address for address, html in docs_pages.items() if 'type="application/atom+xml"' not in html]
    assert missing == ["/docs/api/explorer/"]
    answer = Client().get("/docs/changelog.xml")
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
