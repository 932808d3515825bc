"""Exports spans without secrets, from processes that may be forked."""

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status

# Others may hold addresses with ids and keys in them, clients' IP addresses, or hosts of merchants. Statements are kept:
# their values are parameters, which are no part of them.
ALLOWED: Final = frozenset(
    {
        "http.method",
        "http.request.method",
        "http.route",
        "http.status_code",
        "http.response.status_code",
        "error.type",
        "db.system",
        "db.system.name",
        "db.statement",
        "db.query.text",
        "celery.action",
        "celery.state",
        "celery.task_name",
    }
)
_ALLOWED_OF_EVENTS: Final = frozenset({"exception.type"})


class RedactingExporter(SpanExporter):
    """Passes spans on with the attributes in ALLOWED alone, and exceptions by their types alone."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export the spans."""
        return self._exporter.export([redacted(span) for span in spans])

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export what waits."""
        return self._exporter.force_flush(timeout_millis)


def redacted(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of a span without anything that may be secret."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_kept(span.attributes, ALLOWED),
        events=[
            Event(event.name, _kept(event.attributes, _ALLOWED_OF_EVENTS), event.timestamp) for event in span.events
        ],
        links=span.links,
        kind=span.kind,
        # Its description has the text of an exception.
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _kept(attributes: Mapping[str, Any] | None, allowed: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in (attributes or {}).items() if name in allowed}


class LateProcessor(SpanProcessor):
    """Makes a batch processor in each process at its first span: its thread and its lock would not survive a fork."""

    def __init__(self, make_exporter: Callable[[], SpanExporter]) -> None:
        self._make_exporter = make_exporter
        self._lock = Lock()
        self._made: BatchSpanProcessor | None = None
        os.register_at_fork(after_in_child=self._begin_anew)

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span."""
        with self._lock:
            if self._made is None:
                self._made = BatchSpanProcessor(self._make_exporter())
            processor = self._made
        processor.on_end(span)

    def shutdown(self) -> None:
        """Export what waits, and stop."""
        if self._made is not None:
            self._made.shutdown()  # type: ignore[no-untyped-call]  # it has no types

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export what waits."""
        return self._made is None or self._made.force_flush(timeout_millis)

    def _begin_anew(self) -> None:
        self._lock, self._made = Lock(), None
