"""Each alert fires on the metrics of an installation with its fault, and no other does."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.pages.metrics import measure
from tests.deploy.planted import ALSO, FAULTS, UNPLANTED, make_healthy
from tests.deploy.test_observability import FOLDER, RULES
from tests.factories import LOCAL_NODES, NOON

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        shutil.which("promtool") is None, reason="promtool is not installed: it is in Debian's package prometheus"
    ),
]

MINUTES: Final = 60
FIRING: Final = 'group by (alertname) (ALERTS{alertstate="firing"})'
COUNTED: Final = ("counter", "histogram")

Scrape = Mapping[str, tuple[str, float]]


def scrape() -> Scrape:
    """Each series of a scrape at noon, with the type of its metric and its value."""
    return {
        sample.name + _labels(sample.labels): (family.type, sample.value)
        for family in text_string_to_metric_families(measure(now=NOON).decode())
        for sample in family.samples
    }


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f"{name}={json.dumps(value)}" for name, value in labels.items())
    return f"{{{','.join(pairs)}}}"


def series(before: Scrape, after: Scrape) -> list[dict[str, str]]:
    """What Prometheus sees for an hour: gauges as they are after the fault, counters that grow so each minute."""
    return [
        {"series": name, "values": _values(kind, before.get(name, (kind, 0))[1], value)}
        for name, (kind, value) in after.items()
    ]


def _values(kind: str, before: float, after: float) -> str:
    if kind in COUNTED:
        return f"{before}+{after - before}x{MINUTES}"
    # One by one, because promtool repeats no infinite value.
    return " ".join([f"{after}"] * (MINUTES + 1))


def verdict(found: list[dict[str, str]], alerts: set[str], folder: Path) -> str:
    """Let promtool evaluate the rules; return what is wrong if other alerts fire than these."""
    test = {
        "interval": "1m",
        "input_series": found,
        "promql_expr_test": [
            {
                "expr": FIRING,
                "eval_time": "40m",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)],
            }
        ],
    }
    document = {"rule_files": [str(FOLDER / "alerts.yml")], "evaluation_interval": "1m", "tests": [test]}
    path = folder / "fault.yml"
    path.write_text(json.dumps(document))
    command = ["promtool", "test", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture(autouse=True)
def _installation(settings: Any, tmp_path: Path) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    settings.VAR_DIR = tmp_path
    make_healthy()


def test_nothing_fires_on_a_healthy_installation(tmp_path: Path) -> None:
    before = scrape()
    found = series(before, scrape())
    assert verdict(found, set(), tmp_path) == ""
    assert "ChainSilent" in verdict(found, {"ChainSilent"}, tmp_path)


@pytest.mark.parametrize("alert", FAULTS)
def test_a_fault_fires_its_alert_and_no_other(alert: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = scrape()
    FAULTS[alert](monkeypatch)
    found = series(before, scrape())
    monkeypatch.undo()
    assert verdict(found, {alert} | ALSO.get(alert, set()), tmp_path) == ""


def test_each_alert_has_a_fault() -> None:
    assert set(FAULTS) | UNPLANTED == {rule["alert"] for rule in RULES}
