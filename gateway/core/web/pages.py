"""Helpers of public pages: rate limits, and responses that must not be cached."""

import time
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from gateway.core.api import errors, rate_limits
from gateway.core.api.rate_limits import Limit
from gateway.core.web.client_address import client_address, limited_as


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
