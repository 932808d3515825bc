"""Has a client make the calls of the suite, and says what it did otherwise.

`python -m tests.clients.judging LANGUAGE COMMAND` does so with another runtime; without arguments it writes what the last run of the tests
came to into `clients/conformance/results.md`.
"""

import json
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clients.conformance.server import Script, faults, playing
from tests.clients.packages import CLIENTS, Package, install, run
from tests.tree import ROOT

SUITE = CLIENTS / "conformance"
SCENARIOS: list[dict[str, Any]] = json.loads((SUITE / "scenarios.json").read_text())
SIGNATURES: list[dict[str, Any]] = json.loads((SUITE / "signatures.json").read_text())
SIGNED: list[dict[str, Any]] = json.loads((SUITE / "signed.json").read_text())

_ROWS = ROOT / "var" / "test" / "conformance"
_PAGE = SUITE / "results.md"
_HEAD = """# The last run of the suite

Of the tests of {date}; `script/test --all` writes this page at its end. Each client was built, installed from the built file, and run. "Its own" is what carries
a client's requests unless you give it something else.

| client | runtime | carried by | built file | scenarios | webhooks verified | bodies signed | faults |
|---|---|---|---|---|---|---|---|
{rows}"""

# Its requests come one after another, and each may use the connection of one before.
_PAGES = "many pages come over few connections"


def judge(package: Package, server: Script) -> list[str]:
    """Have a client make all calls; return what it did wrong."""
    told = json.loads(run([*package.command, str(SUITE), server.url], package.folder, package.environment))
    counts = {name: len(told[name]) for name in ("scenarios", "signatures", "signed")}
    assert counts == {"scenarios": len(SCENARIOS), "signatures": len(SIGNATURES), "signed": len(SIGNED)}
    found = [
        f"{scenario['name']}: {fault}"
        for scenario, seen, outcome in zip(SCENARIOS, server.seen, told["scenarios"], strict=True)
        for fault in faults(scenario, seen, outcome)
    ]
    found += [
        fault
        for vector, outcome in zip(SIGNATURES, told["signatures"], strict=True)
        for fault in _signature_faults(vector, outcome)
    ]
    return found + [
        f"{vector['name']}: signed {headers}"
        for vector, headers in zip(SIGNED, told["signed"], strict=True)
        if headers != vector["headers"]
    ]


def keeps_connections(server: Script) -> bool:
    """Whether the requests of many pages took one connection, or two by turns, as Node.js does."""
    (pages,) = (seen for each, seen in zip(SCENARIOS, server.seen, strict=True) if each["name"] == _PAGES)
    assert len(pages) > 5
    return len({request["from_port"] for request in pages}) <= 2


def _signature_faults(told: Mapping[str, Any], outcome: Mapping[str, Any]) -> list[str]:
    wanted = {"error": {"class": told["error"]}} if "error" in told else {"result": told["event"]}
    return [] if outcome == wanted else [f"{told['name']}: {outcome} instead of {wanted}"]


def record(package: Package, language: str, transport: str, found: Sequence[str]) -> None:
    """Keep what a run of the suite came to, for the page of results."""
    version = run([package.command[0], "--version"], package.folder).splitlines()[0].partition(" (")[0]
    # Node.js says its number alone.
    version = f"Node.js {version[1:]}" if version.startswith("v") else version
    size = f"{package.built.name}, {round(package.built.stat().st_size / 1000)} kB"
    counts = [len(SCENARIOS), len(SIGNATURES), len(SIGNED), len(found)]
    _ROWS.mkdir(parents=True, exist_ok=True)
    cells = " | ".join(map(str, [language, version, transport, size, *counts]))
    (_ROWS / f"{language} {transport}").write_text(f"| {cells} |\n")


def main(arguments: Sequence[str]) -> int:
    """Write the page of results, or run the suite with what a command starts instead of a language's program. Return the exit code."""
    if not arguments:
        rows = "".join(path.read_text() for path in sorted(_ROWS.iterdir()))
        _PAGE.write_text(_HEAD.format(date=f"{datetime.now(UTC):%Y-%m-%d}", rows=rows))
        return 0
    language, command = arguments
    with tempfile.TemporaryDirectory() as folder, playing(SCENARIOS) as server:
        package = install(language, Path(folder))
        found = judge(replace(package, command=[*shlex.split(command), *package.command[1:]]), server)
        kept = keeps_connections(server)
    told = f"{len(SCENARIOS)} scenarios, {len(SIGNATURES)} signatures, {len(SIGNED)} signed bodies"
    sys.stdout.write("".join(f"{each}\n" for each in found))
    sys.stdout.write(
        f"{language} by {command}: {told}; {len(found)} faults; {'keeps' if kept else 'does not keep'} connections\n"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
