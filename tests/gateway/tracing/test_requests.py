"""Spans of requests."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import resolve
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from gateway.tracing.requests import RequestSpansMiddleware


def spans_of(request: HttpRequest, status: int = 200) -> list[ReadableSpan]:
    """The spans of a request that is answered with a status."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))

    def view(request: HttpRequest) -> HttpResponse:
        request.resolver_match = resolve(request.path_info)
        return HttpResponse(status=status)

    middleware = RequestSpansMiddleware(view)
    middleware.tracer = provider.get_tracer("test")
    assert middleware(request).status_code == status
    return list(kept.get_finished_spans())


def test_a_span_has_the_route_and_not_the_path() -> None:
    request = RequestFactory().get("/c/0wxyz", HTTP_HOST="not.ours.example")
    [span] = spans_of(request)
    assert span.name.startswith("GET ^c/")
    assert "0wxyz" not in span.to_json()
    assert "not.ours" not in span.to_json()


def test_a_failure_is_an_error() -> None:
    [span] = spans_of(RequestFactory().get("/status"), status=500)
    assert span.status.status_code == StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["http.response.status_code"] == 500


def test_a_strangers_trace_is_not_continued() -> None:
    theirs = f"00-{'a' * 32}-{'b' * 16}-01"
    [span] = spans_of(RequestFactory().get("/status", headers={"traceparent": theirs}))
    assert span.parent is None


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_what_monitors_ask_for_is_not_traced(path: str) -> None:
    assert spans_of(RequestFactory().get(path)) == []
