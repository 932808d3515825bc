"""The OpenAPI document is one that tools for clients and references take: linted, described, well named."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tree import ROOT
from tests.x402.exact.environment import foreign_python

pytestmark = pytest.mark.django_db

Document = dict[str, Any]
REDOCLY = ROOT / "node_modules" / ".bin" / "redocly"


def test_redocly_finds_no_errors_and_no_warnings(document: Document, tmp_path: Path) -> None:
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


def test_each_operation_has_a_summary_a_description_and_a_described_tag(document: Document) -> None:
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}
    groups = [*document["paths"].values(), *document["webhooks"].values()]
    for operation in (found for group in groups for found in group.values()):
        assert 0 < len(operation["summary"]) <= 70, operation["operationId"]
        assert operation["description"], operation["operationId"]
        assert set(operation["tags"]) <= tags, operation["operationId"]
        assert "security" in operation, operation["operationId"]


def test_no_class_of_a_client_is_named_after_a_trick_of_the_generator(document: Document) -> None:
    names = set(document["components"]["schemas"])
    assert not {name for name in names if name.endswith(("Enum", "Extra"))}
    assert not names & {"Blank", "Null", "Exception"}


def test_generated_types_of_typescript_take_a_minimal_body(document: Document, tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    tools = ROOT / "node_modules" / ".bin"
    generated: list[str | Path] = [tools / "openapi-typescript", file, "-o", tmp_path / "api.ts"]
    subprocess.run(generated, cwd=ROOT, capture_output=True, check=True)
    program = tmp_path / "minimal.ts"
    program.write_text(
        """import type { components, operations } from "./api";
type Bodies = components["schemas"];
export const checkout: Bodies["NewCheckout"] = { amount: "25.00", currency: "USD" };
export const link: Bodies["NewLink"] = { title: "Tea", amount: "25.00" };
export const copy: Bodies["NewLink"] = { template: "lkt_1" };
export const template: Bodies["NewLinkTemplate"] = { title: "Tea" };
export const wallet: Bodies["NewWatchedWallet"] = { chain: "base", address: "0x" };
type Sent<Name extends keyof operations> = operations[Name]["parameters"];
export const verify: Sent<"verifyX402Payment"> = { header: { "Idempotency-Key": "order-1" } };
export const settle: Sent<"settleX402Payment"> = {};
"""
    )
    checked = subprocess.run(
        [tools / "tsc", "--noEmit", "--strict", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (checked.stdout, checked.returncode) == ("", 0)


def test_generated_classes_of_python_take_a_minimal_body(document: Document, tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    programs = Path(foreign_python()).parent
    generated: list[str | Path] = [programs / "openapi-python-client", "generate", "--path", file]
    subprocess.run(
        [*generated, "--meta", "none", "--output-path", tmp_path / "api"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    program = """
from api.models import Currency, NewCheckout, NewLink, NewLinkTemplate
made = [NewCheckout(amount="25.00", currency=Currency.USD), NewLink(template="lkt_1"), NewLinkTemplate(title="Tea")]
print([one.to_dict() for one in made])
"""
    told = subprocess.run(
        [programs / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.stdout.strip() == str(
        [{"amount": "25.00", "currency": "USD"}, {"template": "lkt_1"}, {"title": "Tea"}]
    ), told.stderr


def test_no_field_of_a_request_has_a_default_that_would_make_it_required(document: Document) -> None:
    """The default of a query's parameter does no harm: generators leave it out."""
    schemas, seen = document["components"]["schemas"], set()
    waiting = [
        operation["requestBody"]["content"]["application/json"]["schema"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    ]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in seen:
                seen.add(name)
                waiting.append(schemas[name])
            for field, described in part.get("properties", {}).items():
                assert "default" not in described, (field, part)
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    assert seen >= {"NewCheckout", "NewLink", "NewLinkTemplate", "NewWatchedWallet", "NewPayout", "NewRefund"}


def test_every_answer_has_its_headers_and_may_be_a_fault_of_ours(document: Document) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            answers = operation["responses"]
            assert {"500", "503"} <= set(answers)
            for status, answer in answers.items():
                assert {"X-Request-Id", "X-RateLimit-Reset"} <= set(answer["headers"])
                assert ("Retry-After" in answer["headers"]) == (status == "429")
    for kind in ("svg", "png"):
        answer = document["paths"][f"/api/v1/links/{{link_id}}/qr.{kind}"]["get"]
        [content] = answer["responses"]["200"]["content"].values()
        assert content["schema"]["format"] == "binary"
