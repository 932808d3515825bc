"""Traces by OpenTelemetry, an extra: its packages are in requirements/tracing.txt and may be missing."""
