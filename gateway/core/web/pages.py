"""Helpers of public pages: rate limits, responses that must not be cached, and manifests of pages on a home screen."""

import time
from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static

from gateway.core import json
from gateway.core.api import errors, rate_limits
from gateway.core.api.rate_limits import Limit
from gateway.core.web.client_address import client_address, limited_as

# Chromium installs a page with icons of 192 and 512 pixels. Android cuts a maskable one to its own shape.
_ICONS: Final = (
    ("favicon.svg", "any", "image/svg+xml", "any"),
    ("florin-180.png", "180x180", "image/png", "any"),
    ("florin-192.png", "192x192", "image/png", "any"),
    ("florin-512.png", "512x512", "image/png", "any"),
    ("florin-maskable-512.png", "512x512", "image/png", "maskable"),
)


def count_visit(request: HttpRequest, limit: Limit, code: str) -> None:
    """Count a request for one page by one client. Raises RateLimitError."""
    count_client(client_address(request), limit, code)


def count_client(address: str, limit: Limit, code: str) -> None:
    """Count a client's request for one page. Raises RateLimitError."""
    now = time.time()
    state = rate_limits.hit(limit, f"{code}:{limited_as(address)}", now=now)
    if state.exceeded:
        raise errors.RateLimitError(max(1, state.reset - int(now)))


def too_many(request: HttpRequest, error: errors.RateLimitError) -> HttpResponse:
    """Return the page for status 429."""
    words = {"retry_after": error.retry_after}
    return uncached(render(request, "429.html", words, status=429), error.headers())


def uncached(response: HttpResponse, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the response with headers, one of which forbids caching."""
    for name, value in (headers or {}).items():
        response[name] = value
    response["Cache-Control"] = "no-store"
    return response


def manifest(*, name: str, short_name: str, start: str, scope: str) -> HttpResponse:
    """Return what a browser needs to put pages on a home screen (W3C, Web Application Manifest).

    `start` is the path that opens, and identifies the application; pages outside of `scope` open in the browser.
    """
    body = {
        "id": start,
        "name": name,
        "short_name": short_name,
        "start_url": start,
        "scope": scope,
        "display": "standalone",
        "background_color": "#0f1015",
        "theme_color": "#0f1015",
        "icons": [
            {"src": static(f"images/{file}"), "sizes": sizes, "type": form, "purpose": purpose}
            for file, sizes, form, purpose in _ICONS
        ],
    }
    headers = {"Cache-Control": "no-cache"}
    return HttpResponse(json.dumps(body), content_type="application/manifest+json", headers=headers)
