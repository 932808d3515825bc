"""Spans of requests.

Written by hand: OpenTelemetry's middleware for Django refuses hosts that are not in ALLOWED_HOSTS, such as those of health
probes, and continues the trace of any client that sends one.
"""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from gateway.core.web.request_times import method_of, route_of

# Monitors ask for these every few seconds.
_NOT_TRACED: Final = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestSpansMiddleware:
    """Writes a span for each request, named by its method and the pattern of its route."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.tracer = trace.get_tracer("florin")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.path_info in _NOT_TRACED:
            return self.get_response(request)
        method = method_of(request)
        with self.tracer.start_as_current_span(method, kind=SpanKind.SERVER) as span:
            response = self.get_response(request)
            route = route_of(request)
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", response.status_code)
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response
