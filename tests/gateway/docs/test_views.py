"""The documentation for browsers, for clients that prefer Markdown, for its search and for language models."""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from gateway.docs.pages import Page, pages, sections
from gateway.docs.views import IMAGES
from tests.gateway.docs.addresses import get

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("page", pages().values(), ids=lambda page: page.slug)
def test_each_page_has_a_markdown_twin(page: Page) -> None:
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
