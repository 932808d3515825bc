"""The documentation as browsers, clients that prefer Markdown, its search, feeds and language models get it: whole and linked."""

import json
import re
import tomllib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client

from gateway.docs.pages import pages, sections
from gateway.docs.views import IMAGES, releases
from tests.cases import case
from tests.tree import ROOT

# Making every page takes seconds: one worker does it for all of them.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("docs")]
ATOM = "{http://www.w3.org/2005/Atom}"
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))


def get(address: str, **headers: str) -> str:
    """The body of a page that is there."""
    answer = Client().get(address, headers=headers)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_every_guide_is_a_page_and_in_the_menu() -> None:
    listed = {page.read().splitlines()[0] for _, found in sections() for page in found}
    guides = {path: path.read_text().splitlines()[0] for path in GUIDES}
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


def test_a_guide_begins_with_what_its_reader_will_have_and_ends_with_the_next_step() -> None:
    for guide in GUIDES:
        with case(guide.stem):
            title, lead, *_, last = guide.read_text().split("\n\n")
            assert title.startswith("# ")
            assert re.match(r"(At the end of|After) this page |In five minutes you have ", lead)
            assert re.search(r"\]\([\w./#-]+\)", last)
            assert re.search(r"^(## Next|Next: .*)$", guide.read_text(), re.MULTILINE)


def test_each_page_has_a_markdown_twin() -> None:
    for page in pages().values():
        with case(page.slug):
            twin = get(page.markdown_url)
            assert twin == page.markdown()
            assert twin.splitlines()[0] == page.read().splitlines()[0]


def test_links_of_markdown_lead_to_pages_of_this_server() -> None:
    known = {page.markdown_url for page in pages().values()}
    known |= {"/docs/index.md", "/docs/api/explorer/", "/api/v1/openapi.json"}
    known |= {f"/docs/images/{path.name}" for path in IMAGES.glob("*.png")}
    links = 0
    for page in pages().values():
        prose = re.sub(r"^ *```.*?^ *```", "", page.markdown(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^()\s]+)\)", prose):
            links += 1
            path = target.removeprefix(settings.BASE_URL).partition("#")[0]
            assert path in known or re.match(r"#|https?://(?!127)", target), (page.slug, target)
    assert links > 300


def test_served_pages_name_the_servers_own_address(settings: Any) -> None:
    settings.BASE_URL = "https://pay.example.com"
    for page in pages().values():
        assert "127.0.0.1:8000" not in page.read() or page.slug.startswith("api/")
    assert "export BASE_URL=https://pay.example.com\n" in pages()["quickstart"].read()


def test_a_client_that_prefers_markdown_gets_it() -> None:
    answer = Client().get("/docs/webhooks/", headers={"Accept": "text/markdown"})
    assert answer.headers["Content-Type"].startswith("text/markdown")
    assert "Accept" in answer.headers["Vary"].split(", ")
    assert answer.content.decode() == pages()["webhooks"].markdown()


def test_a_client_that_prefers_markdown_gets_the_list_of_pages() -> None:
    answer = Client().get("/docs/", headers={"Accept": "text/markdown"})
    assert answer.headers["Content-Type"].startswith("text/markdown")
    assert "Accept" in answer.headers["Vary"].split(", ")
    assert answer.content.decode() == get("/docs/index.md")


@pytest.mark.parametrize("address", ["/docs/nothing/", "/docs/nothing.md"])
def test_an_unknown_page_is_not_found(address: str) -> None:
    assert Client().get(address).status_code == 404


def test_the_search_finds_headings_of_every_listed_page(docs_pages: dict[str, str]) -> None:
    rows = json.loads(get("/docs/search.json"))
    assert {row[0].partition("#")[0] for row in rows} == {page.url for _, found in sections() for page in found}
    for address, _, _, _ in rows:
        path, _, anchor = address.partition("#")
        assert f'id="{anchor}"' in docs_pages[path] or not anchor


def test_language_models_get_the_list_and_the_whole() -> None:
    index, whole = get("/llms.txt"), get("/llms-full.txt")
    assert index.startswith("# Florin\n\n> ")
    assert get("/docs/index.md") == index
    for _, found in sections():
        for page in found:
            assert f"({settings.BASE_URL}{page.markdown_url})" in index
            assert page.markdown() in whole


def test_assistants_are_told_the_package_of_their_server_and_the_page_about_it() -> None:
    told = json.loads(get("/.well-known/mcp.json"))
    package = tomllib.loads((ROOT / "clients" / "mcp" / "pyproject.toml").read_text())["project"]
    assert told["package"] == package["name"]
    assert (told["name"], told["version"]) == ("Florin", settings.SERVICE_VERSION)
    assert told["package"] in get(told["docs"].removeprefix(settings.BASE_URL))


def test_only_the_explorer_loads_redoc_and_may_style_itself(docs_pages: dict[str, str]) -> None:
    loads = {address for address, html in docs_pages.items() if "redoc.mjs" in html}
    assert loads == {"/docs/api/explorer/"}
    answer = Client().get("/docs/api/explorer/")
    policy = answer.headers["Content-Security-Policy"]
    [nonce] = re.findall(r"style-src 'self' 'nonce-([^']+)'", policy)
    assert f'nonce="{nonce}"' in answer.content.decode()
    assert "script-src 'self';" in policy + ";"
    assert "unsafe" not in policy
    assert "nonce-" not in Client().get("/docs/").headers["Content-Security-Policy"]


def test_every_operations_page_leads_to_the_explorer(docs_pages: dict[str, str]) -> None:
    without = {
        address
        for address, html in docs_pages.items()
        if address.startswith("/docs/api/") and "/docs/api/explorer/" not in html
    }
    assert without == {"/docs/api/explorer/", "/docs/api/webhooks/"}


def test_pictures_of_pages_are_served_and_others_are_not_found(docs_pages: dict[str, str]) -> None:
    sources = {
        source for html in docs_pages.values() for source in re.findall(r'<img src="(/docs/images/[^"]+)"', html)
    }
    assert "/docs/images/start.png" in sources
    for source in sources:
        answer = Client().get(source)
        assert answer["Content-Type"] == "image/png"
        assert answer.getvalue().startswith(b"\x89PNG")
    assert Client().get("/docs/images/none.png").status_code == 404


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
