"""What an installation without OpenTelemetry does when a collector is named."""

import pytest

from gateway import checks
from gateway.apps import tracing_installed
from tests.test_lock_imports import imported

COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"


def test_a_server_without_the_extra_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:9")
    assert imported("server.txt", "gateway.rsgi") == ""
    assert tracing_installed()


def test_it_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COLLECTOR, "http://127.0.0.1:9")
    assert checks.traces_can_be_sent() == []
    monkeypatch.setattr(checks, "tracing_installed", lambda: False)
    assert [found.id for found in checks.traces_can_be_sent()] == ["gateway.W001"]
    monkeypatch.delenv(COLLECTOR)
    assert checks.traces_can_be_sent() == []
