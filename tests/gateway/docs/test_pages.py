"""The documentation's pages: whole, linked, at their addresses, and of this version's code."""

import json
import re
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from gateway.docs.pages import Page, pages, sections
from gateway.pages.api_document import document
from tests.contract.test_error_codes import STATUS_OF
from tests.tree import ROOT

pytestmark = pytest.mark.django_db

GUIDE = ROOT / "docs" / "guide"


def get(address: str, **headers: str) -> str:
    answer = Client().get(address, headers=headers)
    assert answer.status_code == 200, address
    return answer.content.decode()


@pytest.fixture(scope="module")
def written(django_db_blocker: pytest.FixtureRequest) -> dict[str, str]:
    """Each page's HTML by its address."""
    addresses = ["/docs/", *[page.url for page in pages().values()]]
    return {address: get(address) for address in addresses}


def test_every_guide_is_a_page_and_in_the_menu() -> None:
    listed = {page.read().splitlines()[0] for _, found in sections() for page in found}
    guides = {
        path: path.read_text().splitlines()[0] for path in sorted(GUIDE.glob("*.md"))
    }
    assert {path.name for path, title in guides.items() if title not in listed} == set()


def test_each_link_leads_to_a_page_and_to_a_heading_of_it(
    written: dict[str, str],
) -> None:
    anchors = {
        address: set(re.findall(r'id="([^"]+)"', html))
        for address, html in written.items()
    }
    dead = []
    for address, html in written.items():
        for target in re.findall(r'<a [^>]*?href="([^"]+)"', html):
            path, _, anchor = target.partition("#")
            path = path or address
            if path in anchors:
                if anchor and anchor not in anchors[path]:
                    dead.append((address, target))
            elif path.startswith("/docs/") and not path.endswith(".md"):
                dead.append((address, target))
    assert dead == []


def test_no_page_asks_another_host_for_anything(written: dict[str, str]) -> None:
    asked = {
        target
        for html in written.values()
        for target in re.findall(
            r'<(?:script|link|img|iframe)[^>]* (?:src|href)="([^"]+)', html
        )
        if urlsplit(target).netloc
    }
    assert asked == set()


def test_no_page_has_a_script_or_a_style_of_its_own(written: dict[str, str]) -> None:
    found = [
        address
        for address, html in written.items()
        if re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=\"", html)
    ]
    assert found == []


@pytest.mark.parametrize("page", pages().values(), ids=lambda page: page.slug)
def test_each_page_has_a_markdown_twin(page: Page) -> None:
    assert get(page.markdown_url) == page.read()
    assert get(page.markdown_url).startswith("# ")


def test_a_client_that_prefers_markdown_gets_it() -> None:
    answer = Client().get("/docs/webhooks/", headers={"Accept": "text/markdown"})
    assert answer.headers["Content-Type"].startswith("text/markdown")
    assert "Accept" in answer.headers["Vary"].split(", ")
    assert answer.content.decode() == (GUIDE / "webhooks.md").read_text()


@pytest.mark.parametrize("address", ["/docs/nothing/", "/docs/nothing.md"])
def test_an_unknown_page_is_not_found(address: str) -> None:
    assert Client().get(address).status_code == 404


def test_the_search_finds_headings_of_every_listed_page(
    written: dict[str, str],
) -> None:
    rows = json.loads(get("/docs/search.json"))
    assert {row[0].partition("#")[0] for row in rows} == {
        page.url for _, found in sections() for page in found
    }
    for address, _, _, _ in rows:
        path, _, anchor = address.partition("#")
        assert f'id="{anchor}"' in written[path] or not anchor


def test_language_models_get_the_list_and_the_whole() -> None:
    index, whole = get("/llms.txt"), get("/llms-full.txt")
    assert index.startswith("# Florin\n\n> ")
    assert get("/docs/index.md") == index
    for _, found in sections():
        for page in found:
            assert f"({settings.BASE_URL}{page.markdown_url})" in index
            assert page.read() in whole


def test_each_error_code_has_its_entry_and_each_entry_its_code() -> None:
    entries = re.findall(
        r"^### (\w+)$", (GUIDE / "errors.md").read_text(), re.MULTILINE
    )
    assert sorted(entries) == sorted(STATUS_OF)


def test_each_error_code_stands_below_its_status_with_a_cause_and_a_remedy() -> None:
    text = (GUIDE / "errors.md").read_text()
    for part in text.split("\n## ")[1:]:
        statuses = {int(each) for each in re.findall(r"\d{3}", part.partition(":")[0])}
        for entry in part.split("\n### ")[1:]:
            code, _, words = entry.partition("\n")
            assert STATUS_OF[code] in statuses, code
            cause, _, remedy = words.strip().partition(" **What to do:** ")
            assert cause.endswith(".")
            assert remedy.endswith("."), code


def test_each_event_has_its_entry_and_each_entry_its_event() -> None:
    table = (GUIDE / "webhooks.md").read_text().partition("| event |")[2]
    rows = re.findall(r"^\| `([\w.]+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    assert sorted(rows) == sorted(settings.WEBHOOK_EVENT_TYPES)
    reference = pages()["api/webhooks"].read()
    assert re.findall(r"^Event `([\w.]+)`$", reference, re.MULTILINE) == rows


def test_each_operation_has_its_entry_and_each_entry_its_operation() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, operations in json.loads(document())["paths"].items()
        for method in operations
    }
    reference = "\n".join(
        page.read() for slug, page in pages().items() if slug.startswith("api/")
    )
    entries = re.findall(r"^`([A-Z]+ /api/v1/\S+)`$", reference, re.MULTILINE)
    assert sorted(entries) == sorted(described)
