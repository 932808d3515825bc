"""Alerts and dashboards use metrics that a scrape has, and each alert has a fault that fires it and a runbook."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gateway.docs.pages import pages
from tests.scrapes import scrape_everything
from tests.tree import ROOT

FOLDER = ROOT / "deploy" / "observability"
DASHBOARDS = sorted((FOLDER / "grafana").glob("*.json"))
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
# Prometheus' own, of each scrape.
FOREIGN = {"up"}


def panels(dashboard: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    """The expressions of all alerts and panels."""
    yield from (rule["expr"] for rule in RULES)
    for dashboard in DASHBOARDS:
        for panel in panels(dashboard):
            yield from (target["expr"] for target in panel["targets"])


def named(expression: str) -> set[str]:
    """The metrics in an expression."""
    return set(re.findall(r"\b(?:florin_\w+|up)\b", expression))


def metrics(scraped: str) -> set[str]:
    """The names that a query can ask for; a histogram has several."""
    found = set()
    for family in text_string_to_metric_families(scraped):
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
        found |= {family.name + end for end in ends.get(family.type, ("",))}
    return found


@pytest.mark.django_db
def test_each_expression_names_metrics_of_a_scrape(settings: Any, tmp_path: Path) -> None:
    known = metrics(scrape_everything(settings, tmp_path)) | FOREIGN
    for expression in expressions():
        assert named(expression), expression
        assert named(expression) <= known, expression
    assert not named("florin_no_such_seconds > 1") <= known


def test_each_alert_has_a_runbook_and_each_runbook_its_alert() -> None:
    runbooks = pages()["runbooks"]
    text = (ROOT / "docs" / "guide" / "runbooks.md").read_text()
    sections = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sections == [*(rule["alert"] for rule in RULES), "Next"]
    anchors = re.findall(r'<h2 id="([^"]+)"', runbooks.rendered().html)
    for rule in RULES:
        url, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert url == runbooks.url
        assert anchor in anchors
        assert anchor == rule["alert"].lower()


def test_each_alert_is_fired_by_a_planted_fault_and_silent_on_a_healthy_installation() -> None:
    tests = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
    expected: dict[bool, list[str]] = {True: [], False: []}
    for case in tests:
        for alert in case["alert_rule_test"]:
            expected[bool(alert["exp_alerts"])].append(alert["alertname"])
    names = [rule["alert"] for rule in RULES]
    assert expected == {True: names, False: names}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_each_dashboard_has_panels_that_do_not_share_an_id_or_a_place(dashboard: Path) -> None:
    board = json.loads(dashboard.read_text())
    assert board["uid"] == f"florin-{dashboard.stem}"
    ids = [panel["id"] for panel in board["panels"]]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels(dashboard)}
    assert len(set(ids)) == len(places) == len(ids) > 0
    for panel in board["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
