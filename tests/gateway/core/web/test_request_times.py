"""Request times by route, with labels that clients cannot multiply."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from prometheus_client import REGISTRY

from tests.factories import make_checkout
from tests.tree import ROOT

COUNTED = "florin_request_seconds_count"


def told_labels() -> set[str]:
    """Return every value of every label: times and sums may hold any digits."""
    return {value for metric in REGISTRY.collect() for sample in metric.samples for value in sample.labels.values()}


def counted(route: str, method: str, status: str) -> float:
    labels = {"route": route, "method": method, "status": status}
    return REGISTRY.get_sample_value(COUNTED, labels) or 0


def test_a_request_is_counted_by_its_route(client: Client) -> None:
    before = counted("healthz", "GET", "2xx")
    client.get("/healthz")
    assert counted("healthz", "GET", "2xx") == before + 1


@pytest.mark.django_db
def test_no_label_holds_a_path(client: Client) -> None:
    checkout = make_checkout()
    client.get(f"/api/v1/checkouts/{checkout.public_id}")
    client.get("/no-such-page-4711")
    labels = told_labels()
    assert any(label.startswith("api/v1/checkouts/") for label in labels)
    assert not any(checkout.public_id in label for label in labels)
    assert not any("4711" in label for label in labels)


def test_a_method_that_does_not_exist_gets_no_label_of_its_own(client: Client) -> None:
    client.generic("BREW", "/healthz")
    assert counted("healthz", "other", "2xx") == 1
    assert "BREW" not in told_labels()


COUNT_ONCE = """
import os, sys
from gateway.core.web.request_times import SECONDS
if os.fork() == 0:
    SECONDS.labels("healthz", "GET", "2xx").observe(1)
    os._exit(0)
os.wait()
SECONDS.labels("healthz", "GET", "2xx").observe(1)
from prometheus_client import generate_latest
from gateway.pages.metrics import own_counters
sys.stdout.write(generate_latest(own_counters()).decode())
"""


def test_forked_workers_with_a_shared_folder_are_summed(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()" + COUNT_ONCE],
        cwd=ROOT,
        env=os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.search(rf"^{COUNTED}{{.*healthz.*}} 2.0$", told, re.MULTILINE)
