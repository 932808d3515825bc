"""The documentation as HTML, as Markdown, as one file for language models, and its changelog as an Atom feed."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from csp.constants import NONCE
from csp.decorators import csp_update
from django import shortcuts
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.feedgenerator import Atom1Feed

from gateway.docs.pages import DocsPage, address_of, neighbours, pages, sections
from gateway.docs.rendering import anchor_of, render

_CHANGELOG: Path = settings.BASE_DIR / "CHANGELOG.md"
_RELEASE = re.compile(r"^## ((\S+) \(([^()]+)\))\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)

IMAGES: Final = settings.BASE_DIR / "docs" / "images"
_MARKDOWN = "text/markdown; charset=utf-8"


def page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a page, as Markdown if the client prefers that."""
    found = _page(slug)
    if _prefers_markdown(request):
        answer = HttpResponse(found.markdown(), content_type=_MARKDOWN)
    else:
        before, after = neighbours(found)
        with translation.override("en"):
            answer = shortcuts.render(
                request,
                "gateway/docs/page.html",
                {"page_shown": found, "content": found.rendered(), "before": before, "after": after, **_shared()},
            )
    patch_vary_headers(answer, ["Accept"])
    return answer


def index(request: HttpRequest) -> HttpResponse:
    """Show the first page: every section with its pages. A client that prefers Markdown gets that."""
    if _prefers_markdown(request):
        answer = HttpResponse(llms_text(), content_type=_MARKDOWN)
    else:
        with translation.override("en"):
            answer = shortcuts.render(request, "gateway/docs/index.html", _shared())
    patch_vary_headers(answer, ["Accept"])
    return answer


def markdown(_request: HttpRequest, slug: str) -> HttpResponse:
    """Send a page's Markdown."""
    text = llms_text() if slug == "index" else _page(slug).markdown()
    return HttpResponse(text, content_type=_MARKDOWN)


def search_index(_request: HttpRequest) -> HttpResponse:
    """Send every section of every page as JSON, for the search in the browser."""
    return HttpResponse(_search_index(), content_type="application/json")


def changelog(_request: HttpRequest) -> HttpResponse:
    """Send the changelog as an Atom feed."""
    return HttpResponse(changelog_feed(), content_type="application/atom+xml; charset=utf-8")


@csp_update({"style-src": [NONCE], "font-src": ["data:"], "img-src": ["data:"]})
def explorer(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document in Redoc, which writes its styles into the page and therefore gets a nonce."""
    with translation.override("en"):
        return shortcuts.render(request, "gateway/docs/explorer.html", _shared())


def image(_request: HttpRequest, name: str) -> FileResponse:
    """Send a picture of the documentation."""
    path = IMAGES / f"{name}.png"
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png")


def llms(_request: HttpRequest) -> HttpResponse:
    """Send the list of pages that language models read."""
    return HttpResponse(llms_text(), content_type="text/plain; charset=utf-8")


def llms_full(_request: HttpRequest) -> HttpResponse:
    """Send every listed page's Markdown in one file."""
    return HttpResponse(_full_text(), content_type="text/plain; charset=utf-8")


def mcp(_request: HttpRequest) -> JsonResponse:
    """Send where the server for assistants is: its package, and the page that explains it."""
    docs = settings.BASE_URL + pages()["agents"].url
    return JsonResponse({"name": "Florin", "version": settings.SERVICE_VERSION, "package": "florin-mcp", "docs": docs})


@cache
def llms_text() -> str:
    """Return the list of pages as Markdown, each with its first paragraph."""
    lines = [
        "# Florin",
        "",
        f"> Self-hosted gateway for stablecoin payments. Documentation of version {settings.SERVICE_VERSION}.",
    ]
    for name, found in sections():
        lines += ["", f"## {name}", ""]
        lines += [f"- [{each.title}]({settings.BASE_URL}{each.markdown_url}): {each.rendered().lead}" for each in found]
    return "\n".join(lines) + "\n"


@cache
def _full_text() -> str:
    return "\n\n".join(f"<!-- {each.url} -->\n\n{each.markdown()}" for _, found in sections() for each in found)


@cache
def _search_index() -> str:
    rows = [
        [f"{each.url}#{heading.anchor}" if heading.level > 1 else each.url, each.title, heading.title, heading.text]
        for _, found in sections()
        for each in found
        for heading in each.rendered().headings
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Release:
    """A release: its version, its heading in the changelog, when it was made, and its changes as Markdown."""

    version: str
    heading: str
    made_at: datetime
    text: str


@cache
def changelog_feed() -> str:
    """Return the feed as XML."""
    page = pages()["changelog"]
    address = settings.BASE_URL + page.url
    feed = Atom1Feed(
        title="Florin releases",
        link=address,
        description="What changes in Florin",
        feed_url=f"{settings.BASE_URL}/docs/changelog.xml",
        language="en",
    )
    for release in releases(_CHANGELOG.read_text()):
        html = render(release.text, link=_absolute).html
        feed.add_item(
            title=f"Florin {release.heading}",
            link=f"{address}#{anchor_of(release.heading, taken=set())}",
            description=html,
            unique_id=f"{address}#{release.version}",
            pubdate=release.made_at,
            updateddate=release.made_at,
        )
    return feed.writeString("utf-8")


def releases(text: str) -> Iterator[Release]:
    """Read the releases of a changelog, newest first. A release without a date gets that of the file."""
    for heading, version, date, changes in _RELEASE.findall(text):
        if date == "unreleased":
            made_at = datetime.fromtimestamp(_CHANGELOG.stat().st_mtime, UTC)
        else:
            made_at = datetime.fromisoformat(date).replace(tzinfo=UTC)
        yield Release(version, heading, made_at, changes)


def _absolute(target: str) -> str | None:
    address = address_of(pages()["changelog"], target)
    if address is None or not address.startswith("/"):
        return address
    return str(settings.BASE_URL) + address


def _prefers_markdown(request: HttpRequest) -> bool:
    return "text/markdown" in request.headers.get("Accept", "")


def _page(slug: str) -> DocsPage:
    found = pages().get(slug)
    if found is None:
        raise Http404
    return found


def _shared() -> dict[str, object]:
    return {"sections": sections(), "version": settings.SERVICE_VERSION}
