"""Middleware for headers, error envelopes and old addresses, including requests that reach no view."""

from collections.abc import Callable
from typing import Final

import structlog
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from gateway.core import json
from gateway.core.api import errors
from gateway.core.api.views import count_address
from gateway.core.ids import new_code
from gateway.core.web.parked_views import REFUSAL

API_PREFIX = "/api/"


class PermanentRedirect(HttpResponse):
    """308 (RFC 9110, 15.4.9): the browser repeats a POST, unlike after a 301. The target is always on our own host."""

    status_code = 308

    def __init__(self, location: str) -> None:
        super().__init__(headers={"Location": location})


class PresentHostMiddleware:
    """Redirects pages requested on a legacy host to the current host. It costs nothing where no legacy host is set."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.LEGACY_HOSTS:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self.legacy: Final = frozenset(host.lower() for host in settings.LEGACY_HOSTS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        # Not get_host(): it refuses hosts missing from ALLOWED_HOSTS, which the redirect to https must not name.
        host = request.META.get("HTTP_HOST", "").lower()
        present = _present_host(request.path_info) if host in self.legacy else None
        if present is None:
            return self.get_response(request)
        return PermanentRedirect(present + request.get_full_path())


def _present_host(path: str) -> str | None:
    """Return where a page is served now; None if the path is not a page."""
    if path.startswith("/c/"):
        return str(settings.CHECKOUT_HOST)
    # The current host redirects old paths itself.
    return str(settings.LINK_HOST) if path.startswith(("/p/", "/pay/")) else None


class ApiMiddleware:
    """Gives every request an id, and each API response the headers that the contract promises."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        request_id = f"req_{new_code()}"
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        refusal: errors.GatewayError | None = request.META.get(REFUSAL)
        response = _refuse(request, refusal) if refusal else self.get_response(request)
        if request.path_info.startswith(API_PREFIX):
            response = self._complete(request, response)
        response["X-Request-Id"] = request_id
        return response

    def _complete(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.status_code >= 400 and response["Content-Type"] != "application/json":
            response = _envelope(response)
        if not hasattr(request, "rate_state"):
            response = _count_late(request, response)
        for name, value in request.rate_state.headers().items():  # type: ignore[attr-defined]
            response[name] = value
        response["X-Service-Version"] = settings.SERVICE_VERSION
        # Only an answer that says for how long may be kept.
        response.headers.setdefault("Cache-Control", "no-store")
        # Without Content-Length the server would send chunks, which costs both sides time.
        if not response.streaming:
            response["Content-Length"] = str(len(response.content))
        return response


class NoNulMiddleware:
    """Answers 404 for a path with a NUL byte: PostgreSQL would reject every statement that looks it up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request. Raises Http404."""
        if "\x00" in request.path_info:
            raise Http404
        return self.get_response(request)


class PagePolicyMiddleware(CSPMiddleware):
    """Adds the content security policy to pages.

    JSON is never rendered, and building a policy costs 8 % of its response time.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the header to every response except the API's."""
        if request.path_info.startswith(API_PREFIX):
            return response
        dressed: HttpResponseBase = super().process_response(request, response)
        return dressed


def _count_late(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Count a request that failed before its view ran."""
    try:
        count_address(request)
    except errors.RateLimitError as error:
        return _render(error)
    return response


def _refuse(request: HttpRequest, error: errors.GatewayError) -> HttpResponse:
    """Return the response to a request that the web front refused for its body."""
    if request.path_info.startswith(API_PREFIX):
        return _render(error)
    headers = error.headers()
    return HttpResponse(error.message, status=error.status, content_type="text/plain", headers=headers)


def _envelope(response: HttpResponse) -> HttpResponse:
    """Turn Django's error page into the API's error envelope."""
    envelope = _render(_error_of(response.status_code))
    if "Allow" in response:
        envelope["Allow"] = response["Allow"]
    return envelope


def _error_of(status: int) -> errors.GatewayError:
    if status == 404:
        return errors.NotFoundError("There is no such route.", code="route_missing")
    if status == 405:
        return errors.MethodNotAllowedError("This route does not take that method.")
    if status == 413:
        return errors.BodyTooLargeError("The request body is larger than 256 KB.")
    if status < 500:
        return errors.InvalidRequestError("The request cannot be understood.")
    return errors.GatewayError("Something went wrong on our side. Please try again.")


def _render(error: errors.GatewayError) -> HttpResponse:
    return HttpResponse(
        json.dumps(error.body()), status=error.status, content_type="application/json", headers=error.headers()
    )
