"""The gateway as a Django app: commands, Celery, system checks."""

import os
from importlib.util import find_spec

from django.apps import AppConfig

from gateway.environment import lend_files


class GatewayConfig(AppConfig):
    """Loads what must exist before the first request or task."""

    name = "gateway"

    def ready(self) -> None:
        """Configure Celery, so that tasks can be sent from any process, and start tracing where it is wanted."""
        from gateway import celery, checks  # noqa: F401 - apps must be loaded first

        lend_files("OTEL_")
        if tracing_wanted() and tracing_installed():
            from gateway.tracing.start import start

            start()


def tracing_wanted() -> bool:
    """Return whether the environment names a collector of traces, in OpenTelemetry's own variables."""
    return bool(os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))


def tracing_installed() -> bool:
    """Return whether the packages of requirements/tracing.txt are there."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
