"""The bill of materials says what a server installs, with each file's hash and licence."""

import json
import subprocess
from pathlib import Path

from deploy.sbom import LOCK, UNKNOWN, packages
from tests.test_lock_imports import locked
from tests.tree import ROOT

# For other systems than Linux, or older Pythons than ours.
ELSEWHERE = {"colorama", "pywin32", "tzdata", "httpx2-jsfetch"}


def test_it_lists_every_package_of_the_servers_lock() -> None:
    found = {package.name: package for package in packages(LOCK.read_text())}
    assert locked("server.txt") - found.keys() <= ELSEWHERE
    assert found.keys() <= locked("server.txt")
    assert all(package.hashes for package in found.values())


def test_licences_are_those_that_packages_declare() -> None:
    found = {one.name: one.licence for one in packages(LOCK.read_text())}
    unknown = {name for name, licence in found.items() if licence == UNKNOWN}
    # The first declares none anywhere; the others are for Pythons that this one is not.
    assert unknown <= {"jsonalias", "async-timeout", "coincurve"}
    assert found["django"] == "BSD-3-Clause"
    assert found["solders"] == "Apache License"


def test_the_script_writes_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run([ROOT / "script" / "sbom", tmp_path / name], check=True)
    one, two = ((tmp_path / name / "sbom.cdx.json").read_text() for name in ("one", "two"))
    assert one == two
    bill = json.loads(one)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    refs = [component["bom-ref"] for component in bill["components"]]
    assert len(refs) == len(set(refs)) > 50
    assert bill["dependencies"][0]["dependsOn"] == refs
    assert "| django | " in (tmp_path / "one" / "licences.md").read_text()
