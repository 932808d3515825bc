"""The OpenAPI document is one that tools for clients and references take: linted, described, well named."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tree import ROOT

pytestmark = pytest.mark.django_db

Document = dict[str, Any]
REDOCLY = ROOT / "node_modules" / ".bin" / "redocly"


def test_redocly_finds_no_errors_and_no_warnings(
    document: Document, tmp_path: Path
) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    linted = subprocess.run(
        [REDOCLY, "lint", "--format=json", file],
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "CI": "true"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(linted.stdout)
    problems = [(each["ruleId"], each["message"]) for each in found["problems"]]
    assert problems == []
    assert linted.returncode == 0


def test_each_operation_has_a_summary_a_description_and_a_described_tag(
    document: Document,
) -> None:
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}
    groups = [*document["paths"].values(), *document["webhooks"].values()]
    for operation in (found for group in groups for found in group.values()):
        assert 0 < len(operation["summary"]) <= 70, operation["operationId"]
        assert operation["description"], operation["operationId"]
        assert set(operation["tags"]) <= tags, operation["operationId"]
        assert "security" in operation, operation["operationId"]


def test_no_class_of_a_client_is_named_after_a_trick_of_the_generator(
    document: Document,
) -> None:
    names = set(document["components"]["schemas"])
    assert not {name for name in names if name.endswith(("Enum", "Extra"))}
    assert not names & {"Blank", "Null", "Exception"}
