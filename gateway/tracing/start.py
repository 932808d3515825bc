"""Starts tracing in a process, and writes payments' steps as spans. A trace's id follows from its subject."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from django.conf import settings
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler, SamplingResult
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, TraceFlags

from gateway.core.tracing import record_with
from gateway.tracing.export import LateProcessor, RedactingExporter

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_first: ContextVar[SpanContext | None] = ContextVar("first step", default=None)

_NAMES: Final = {
    "run_watchers": "florin-watchers",
    "run_sender": "florin-sender",
    "gateway.rsgi": "florin-web",
    "gateway.asgi": "florin-streams",
    "gateway.beat": "florin-beat",
    "celery": "florin-worker",
}
_INSTRUMENTORS: Final = (CeleryInstrumentor, PsycopgInstrumentor, URLLib3Instrumentor, AioHttpClientInstrumentor)


def first_step_of(subject: str) -> SpanContext:
    """Return the ids of a subject's trace and of its first span. They do not reveal the subject."""
    digest = sha256(f"florin {subject}".encode()).digest()
    return SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=_SAMPLED,
    )


class PaymentSteps:
    """Writes steps as spans of a provider that takes its ids from `StepIds`."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("florin")

    @contextmanager
    def step(self, name: str, subject: str, *, began: datetime | None, is_first: bool, after: str) -> Iterator[None]:
        """Write a span in the trace of `subject`, with links to what this process does now and to `after`."""
        first = first_step_of(subject)
        here = trace.get_current_span()
        here.add_link(first)
        causes = [here.get_span_context(), *([first_step_of(after)] if after else [])]
        token = _first.set(first if is_first else None)
        parent = Context() if is_first else trace.set_span_in_context(NonRecordingSpan(first), Context())
        try:
            span = self._tracer.start_span(
                name,
                context=parent,
                links=[Link(cause) for cause in causes if cause.is_valid],
                start_time=_nanoseconds(began) if began else None,
            )
        finally:
            _first.reset(token)
        with trace.use_span(span, end_on_exit=True):
            yield


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


class StepIds(RandomIdGenerator):
    """Gives a first step the ids of its subject, and other spans random ones."""

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        first = _first.get()
        return first.trace_id if first else super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Return the id of a new span."""
        first = _first.get()
        return first.span_id if first else super().generate_span_id()


class PaymentSampler(Sampler):
    """Keeps each payment whole, and samples other traces as usual."""

    def __init__(self, usual: Sampler) -> None:
        self._usual = usual

    def should_sample(self, *arguments: Any, **named: Any) -> SamplingResult:
        """Return whether a span is kept. Later steps follow their first one, which is always kept."""
        sampler = self._usual if _first.get() is None else ALWAYS_ON
        return sampler.should_sample(*arguments, **named)

    def get_description(self) -> str:
        """Return a name for logs."""
        return f"PaymentSampler({self._usual.get_description()})"


def start() -> None:
    """Send the spans of this process to the collector that the standard's variables name."""
    provider = make_provider(OTLPSpanExporter)
    trace.set_tracer_provider(provider)
    settings.MIDDLEWARE.insert(0, "gateway.tracing.requests.RequestSpansMiddleware")
    for instrumentor in _INSTRUMENTORS:
        instrumentor().instrument(tracer_provider=provider)
    record_with(PaymentSteps(provider).step)


def make_provider(exporter: type[SpanExporter]) -> TracerProvider:
    """Return a provider of spans. Each process opens its own exporter, which gets them without secrets."""
    provider = TracerProvider(
        resource=Resource.create(resource_attributes(os.environ, sys.argv)), id_generator=StepIds()
    )
    # The provider's own sampler is the one that OTEL_TRACES_SAMPLER names.
    provider.sampler = PaymentSampler(provider.sampler)
    provider.add_span_processor(LateProcessor(lambda: RedactingExporter(exporter())))
    return provider


def resource_attributes(environment: Mapping[str, str], arguments: Sequence[str]) -> dict[str, str]:
    """Return what describes this process; OTEL_SERVICE_NAME overrides its name."""
    told = {SERVICE_VERSION: settings.SERVICE_VERSION}
    if "OTEL_SERVICE_NAME" not in environment:
        told[SERVICE_NAME] = process_name(arguments)
    return told


def process_name(arguments: Sequence[str]) -> str:
    """Return a name for the process that was started with these arguments."""
    words = " ".join(arguments)
    return next((name for word, name in _NAMES.items() if word in words), "florin")
