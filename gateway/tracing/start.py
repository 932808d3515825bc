"""Starts tracing in a process."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from django.conf import settings
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

from gateway.core.tracing import record_with
from gateway.tracing.export import LateProcessor, RedactingExporter
from gateway.tracing.steps import PaymentSampler, PaymentSteps, StepIds

_NAMES: Final = {
    "run_watchers": "florin-watchers",
    "run_sender": "florin-sender",
    "gateway.rsgi": "florin-web",
    "gateway.asgi": "florin-streams",
    "gateway.beat": "florin-beat",
    "celery": "florin-worker",
}
_INSTRUMENTORS: Final = (CeleryInstrumentor, PsycopgInstrumentor, URLLib3Instrumentor, AioHttpClientInstrumentor)


def start() -> None:
    """Send the spans of this process to the collector that the standard's variables name."""
    provider = make_provider(OTLPSpanExporter)
    trace.set_tracer_provider(provider)
    settings.MIDDLEWARE.insert(0, "gateway.tracing.requests.RequestSpansMiddleware")
    for instrumentor in _INSTRUMENTORS:
        instrumentor().instrument(tracer_provider=provider)
    record_with(PaymentSteps(provider).step)


def make_provider(exporter: type[SpanExporter]) -> TracerProvider:
    """Return a provider of spans that a new exporter in each process gets, without anything secret."""
    provider = TracerProvider(
        resource=Resource.create(resource_attributes(os.environ, sys.argv)), id_generator=StepIds()
    )
    # The usual one is that of OTEL_TRACES_SAMPLER.
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
