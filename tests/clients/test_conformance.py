"""Each client, installed from its built package, makes the calls of the suite and comes to what the suite says."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clients.conformance.server import faults, playing
from tests.clients.packages import CLIENTS, LANGUAGES, Package, install, run

SUITE = CLIENTS / "conformance"
SCENARIOS: list[dict[str, Any]] = json.loads((SUITE / "scenarios.json").read_text())
SIGNATURES: list[dict[str, Any]] = json.loads((SUITE / "signatures.json").read_text())


def is_there(language: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether a language can be run here; say so if not, and fail where everything must be tried."""
    if shutil.which(LANGUAGES[language]):
        return True
    assert os.environ.get("CI") != "true", f"CI must run the {language} client: {LANGUAGES[language]} is missing"
    with capsys.disabled():
        sys.stderr.write(f"\nThe {language} client was not run: {LANGUAGES[language]} is not installed.\n")
    return False


def outcomes(package: Package, server: str) -> Any:
    return json.loads(run([*package.command, str(SUITE), server], package.folder, package.environment))


def signature_faults(told: Mapping[str, Any], outcome: Mapping[str, Any]) -> list[str]:
    wanted = {"error": {"class": told["error"]}} if "error" in told else {"result": told["event"]}
    return [] if outcome == wanted else [f"{told['name']}: {outcome} instead of {wanted}"]


@pytest.fixture
def judged(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str] | None:
    """What a client did wrong; None where its language is not installed."""
    if not is_there(language, capsys):
        return None
    package = install(language, tmp_path)
    with playing(SCENARIOS) as server:
        told = outcomes(package, server.url)
        assert [len(told[name]) for name in ("scenarios", "signatures")] == [len(SCENARIOS), len(SIGNATURES)]
        found = [
            f"{scenario['name']}: {fault}"
            for scenario, seen, outcome in zip(SCENARIOS, server.seen, told["scenarios"], strict=True)
            for fault in faults(scenario, seen, outcome)
        ]
    pairs = zip(SIGNATURES, told["signatures"], strict=True)
    return found + [fault for vector, outcome in pairs for fault in signature_faults(vector, outcome)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_installed_client_does_what_the_suite_says(language: str, judged: list[str] | None) -> None:
    assert not judged, f"{language}: " + "\n".join(judged)


def test_the_suite_is_large_and_each_case_has_a_name_of_its_own() -> None:
    for cases, least in ((SCENARIOS, 80), (SIGNATURES, 30)):
        assert len({each["name"] for each in cases}) == len(cases) >= least


def test_the_judge_sees_a_doubled_request_a_new_key_and_another_result() -> None:
    (scenario,) = (each for each in SCENARIOS if each["name"].startswith("a POST is repeated without an answer"))
    headers = {"authorization": "Bearer sk_test_1", "user-agent": "florin-x", "content-type": "application/json"}
    sent = {"method": "POST", "path": "/links", "query": {}, "body": '{"title":"x"}', "at": 0.0}
    first = sent | {"headers": headers | {"idempotency-key": "k" * 36}}
    other = sent | {"headers": headers | {"idempotency-key": "l" * 36}}
    good = {"result": {"id": "l"}}
    assert faults(scenario, [first, first], good) == []
    assert faults(scenario, [first, other], good) != []
    assert faults(scenario, [first, first, first], good) != []
    assert faults(scenario, [first, first], {"result": {"id": "m"}}) != []
    assert faults(scenario, [first, first], {"error": {"class": "NoAnswerError"}}) != []
