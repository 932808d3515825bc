"""What leaves the process about a span."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, use_span

from gateway.tracing.export import LateProcessor, RedactingExporter

SECRET = "chk_live_secret"


def test_only_allowed_attributes_leave_and_exceptions_have_their_type_alone() -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(kept)))
    tracer = provider.get_tracer("test")
    told = {
        "http.route": "api/v1/checkouts",
        "http.url": f"https://node.example/{SECRET}",
        "http.target": f"/c/{SECRET}",
        "net.peer.ip": SECRET,
    }
    span = tracer.start_span("POST", attributes=told)
    with pytest.raises(ValueError, match=SECRET), use_span(span, end_on_exit=True):
        raise ValueError(SECRET)
    [left] = kept.get_finished_spans()
    assert left.attributes == {"http.route": "api/v1/checkouts"}
    assert left.status.status_code == StatusCode.ERROR
    [event] = left.events
    assert event.attributes == {"exception.type": "ValueError"}
    assert SECRET not in left.to_json()
    assert SECRET in span.to_json()  # type: ignore[attr-defined]


def test_each_process_has_an_exporter_of_its_own_from_its_first_span_on() -> None:
    made: list[InMemorySpanExporter] = []

    def make() -> InMemorySpanExporter:
        made.append(InMemorySpanExporter())
        return made[-1]

    processor = LateProcessor(make)
    provider = TracerProvider()
    provider.add_span_processor(processor)
    assert processor.force_flush()
    assert made == []
    provider.get_tracer("test").start_span("parent").end()
    assert processor.force_flush()
    # As after a fork.
    processor._begin_anew()
    provider.get_tracer("test").start_span("child").end()
    processor.shutdown()
    names = [[span.name for span in each.get_finished_spans()] for each in made]
    assert names == [["parent"], ["child"]]
