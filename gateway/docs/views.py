"""The documentation as HTML, as Markdown, and as one file for language models."""

import json
from functools import cache
from typing import Final

from csp.constants import NONCE
from csp.decorators import csp_update
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers

from gateway.docs.changes import changelog_feed
from gateway.docs.pages import Page, neighbours, pages, sections

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
            answer = render(
                request,
                "docs/page.html",
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
            answer = render(request, "docs/index.html", _shared())
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
        return render(request, "docs/explorer.html", _shared())


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


def _prefers_markdown(request: HttpRequest) -> bool:
    return "text/markdown" in request.headers.get("Accept", "")


def _page(slug: str) -> Page:
    found = pages().get(slug)
    if found is None:
        raise Http404
    return found


def _shared() -> dict[str, object]:
    return {"sections": sections(), "version": settings.SERVICE_VERSION}
