"""Tracing starts where it is wanted, and one payment is one picture."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from opentelemetry.sdk.resources import SERVICE_NAME

from gateway.apps import tracing_wanted
from gateway.tracing.start import process_name, resource_attributes
from tests.collector import Collector, collecting
from tests.demo.running import var_folder
from tests.deploy.test_observability import FOREIGN, expressions, metrics, named
from tests.traced_payment import TracedPayment, draw, pay_traced
from tests.tree import ROOT


def of_a_demo(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of the traced payment: one worker runs all, because starting a demo takes half a minute."""
    for mark in (pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.xdist_group("traced_payment")):
        test = mark(test)
    return test


NOT_HERE = {
    "florin_backup_age_seconds",
    "florin_replica_lag_seconds",
    "florin_restore_drill_age_seconds",
    "florin_wal_age_seconds",
}
"""Metrics of `florinctl`, which notes nothing here, and of a replica, which is not set."""

STARTED = "import django; django.setup(); import sys; print('opentelemetry' in sys.modules)"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/x/gateway/server/__main__.py", "gateway.rsgi:application"], "florin-web"),
        (["granian", "--workers", "1", "gateway.asgi:application"], "florin-streams"),
        (["/x/celery/__main__.py", "--app", "gateway.celery"], "florin-worker"),
        (["celery", "-A", "gateway.beat", "beat"], "florin-beat"),
        (["manage.py", "run_watchers"], "florin-watchers"),
        (["manage.py", "run_sender"], "florin-sender"),
        (["manage.py", "migrate"], "florin"),
    ],
)
def test_a_process_has_a_name(arguments: list[str], name: str) -> None:
    assert process_name(arguments) == name
    assert resource_attributes({}, arguments)[SERVICE_NAME] == name
    named = resource_attributes({"OTEL_SERVICE_NAME": "mine"}, arguments)
    assert SERVICE_NAME not in named


@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_it_is_off_until_a_collector_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    assert not tracing_wanted()
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert tracing_wanted()


def test_a_process_without_a_collector_does_not_load_it() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    command = [sys.executable, "-c", STARTED]
    for more, loaded in (({}, "False"), (Collector("http://127.0.0.1:9").environment, "True")):
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment | more | {"DJANGO_SETTINGS_MODULE": "gateway.settings"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == loaded


@pytest.fixture(scope="module")
def paid() -> Iterator[TracedPayment]:
    """One payment of a demo, with all its processes."""
    with collecting() as collector, var_folder() as var:
        yield pay_traced(collector, var)


@of_a_demo
def test_its_steps_are_one_trace_across_processes(paid: TracedPayment) -> None:
    steps = [(span.process, span.name) for span in paid.steps]
    for step in (
        ("florin-web", "checkout created"),
        ("florin-worker", "payment credited"),
        ("florin-worker", "checkout completed"),
        ("florin-sender", "webhook sent"),
        ("florin-sender", "POST"),
    ):
        assert step in steps
    [root] = [span for span in paid.steps if not span.parent]
    assert root.name == "checkout created"
    ids = {span.id for span in paid.steps}
    lost = [span.name for span in paid.steps if span.parent and span.parent not in ids]
    assert lost == []


@of_a_demo
def test_links_lead_to_the_request_the_task_and_the_watcher(paid: TracedPayment) -> None:
    causes = {(span.process, span.name) for span in paid.causes}
    assert ("florin-web", "POST api/v1/checkouts") in causes
    assert ("florin-worker", "run/checkouts.attribute_transfers") in causes
    assert ("florin-watchers", "payment seen") in causes


@of_a_demo
def test_database_and_nodes_are_in_traces(paid: TracedPayment) -> None:
    spans = paid.collector.spans
    asked = {span.process for span in spans if "db.system" in span.attributes}
    assert {"florin-web", "florin-worker", "florin-watchers"} <= asked
    assert [span for span in paid.collector.named("POST") if span.process == "florin-watchers"]


@of_a_demo
def test_no_attribute_has_an_id_or_an_address(paid: TracedPayment) -> None:
    told = repr([(span.name, span.attributes) for span in paid.collector.spans])
    assert "api/v1/checkouts" in told
    for secret in (paid.checkout_id, *paid.secrets, "0x", "127.0.0.1"):
        assert secret not in told


@of_a_demo
def test_it_is_drawn(paid: TracedPayment) -> None:
    svg = draw(paid)
    for words in ("web: checkout created", "watchers: payment seen", "sender: webhook sent"):
        assert words in svg
    assert paid.checkout_id not in svg


@of_a_demo
def test_a_scrape_of_real_processes_has_the_metrics_of_alerts_and_dashboards(paid: TracedPayment) -> None:
    asked = set[str]().union(*map(named, expressions()))
    assert asked - FOREIGN - metrics(paid.scraped) == NOT_HERE
