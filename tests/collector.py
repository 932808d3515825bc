"""A collector of traces: receives OTLP over HTTP from the processes of an installation, and keeps the spans."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.webhooks.receiver import Got as Request
from tests.webhooks.receiver import Reply, receiving

TRACES = "/v1/traces"


@dataclass(frozen=True, slots=True)
class Got:
    """A span that arrived. Ids are bytes, times are nanoseconds; `links` has the traces that it names."""

    process: str
    name: str
    trace: bytes
    id: bytes
    parent: bytes
    links: tuple[bytes, ...]
    began: int
    ended: int
    attributes: dict[str, str]


class Collector:
    """What arrived so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Got] = []

    @property
    def environment(self) -> dict[str, str]:
        """What tells a process to send its spans here, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}

    def of(self, trace: bytes) -> list[Got]:
        """The spans of a trace, the earliest first."""
        found = [span for span in self.spans if span.trace == trace]
        return sorted(found, key=lambda span: (span.began, span.ended))

    def named(self, name: str) -> list[Got]:
        """The spans of a name."""
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> None:
        """Keep the spans of a request."""
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            told = _attributes(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [_got(told["service.name"], each) for each in scope.spans]


def _got(process: str, span: Any) -> Got:
    return Got(
        process=process,
        name=span.name,
        trace=span.trace_id,
        id=span.span_id,
        parent=span.parent_span_id,
        links=tuple(link.trace_id for link in span.links),
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
    )


def _attributes(pairs: Any) -> dict[str, str]:
    return {pair.key: str(pair.value).strip() for pair in pairs} | {
        pair.key: pair.value.string_value for pair in pairs if pair.value.HasField("string_value")
    }


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector at a port of its own."""

    def take(got: Request) -> Reply:
        if got.path == TRACES:
            collector.take(got.body)
        return Reply()

    with receiving() as receiver:
        collector = Collector(f"http://127.0.0.1:{receiver.port}")
        receiver.reply = take
        yield collector
