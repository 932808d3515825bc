"""Writes the bill of materials of requirements/server.txt: sbom.cdx.json (CycloneDX 1.6) and licences.md.

The same lock gives the same bytes. Licences are those that the installed packages declare.
"""

import json
import re
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

from packaging.markers import Marker

LOCK: Final = Path(__file__).resolve().parent.parent / "requirements" / "server.txt"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
UNKNOWN: Final = "unknown"
_ENTRY: Final = re.compile(r"^([\w.-]+)==(\S+)(?: ; ([^\\]+))?", re.MULTILINE)
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_LONGEST_LICENCE: Final = 60


@dataclass(frozen=True, slots=True)
class Package:
    """One locked package: the SHA-256 of each file that it may be installed from, and its declared licence."""

    name: str
    version: str
    hashes: Sequence[str]
    licence: str

    @property
    def purl(self) -> str:
        """The package URL."""
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def packages(lock: str) -> Iterator[Package]:
    """Yield what a lock file installs on Linux, in its order."""
    entries = list(_ENTRY.finditer(lock))
    ends = [*(entry.start() for entry in entries[1:]), len(lock)]
    for entry, end in zip(entries, ends, strict=True):
        name, version, marker = entry.groups()
        if marker is None or _is_for_linux(marker.strip()):
            hashes = sorted(_HASH.findall(lock, entry.start(), end))
            yield Package(name, version, hashes, licence_of(name))


def _is_for_linux(marker: str) -> bool:
    linux = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
    return any(
        Marker(marker).evaluate({**linux, "python_version": python, "python_full_version": f"{python}.0"})
        for python in PYTHONS
    )


def licence_of(name: str) -> str:
    """Return the licence that an installed package declares, or the first line of its licence's text.

    `unknown` where it has neither, or is not installed here.
    """
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return UNKNOWN
    declared = package.metadata
    for field in ("License-Expression", "License"):
        text = "".join(declared.get_all(field) or []).strip()
        if text and "\n" not in text and len(text) <= _LONGEST_LICENCE:
            return text
    for classifier in declared.get_all("Classifier") or []:
        if classifier.startswith("License :: "):
            return str(classifier.split(" :: ")[-1])
    file = package.read_text("licenses/LICENSE") or package.read_text("LICENSE") or ""
    return next((line.strip() for line in file.splitlines() if line.strip()), UNKNOWN)


def cyclonedx(found: Sequence[Package], *, version: str) -> dict[str, Any]:
    """Return the bill of materials as CycloneDX 1.6 has it."""
    told = json.dumps([[one.purl, *one.hashes] for one in found])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, told)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "florin",
                "name": "florin",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_component(one) for one in found],
        "dependencies": [{"ref": "florin", "dependsOn": [one.purl for one in found]}],
    }


def _component(package: Package) -> dict[str, Any]:
    # One component may have one hash of a kind: each file's stands beside its distribution.
    files = [
        {"type": "distribution", "url": package.purl, "hashes": [{"alg": "SHA-256", "content": one}]}
        for one in package.hashes
    ]
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "licenses": [{"license": {"name": package.licence}}],
        "externalReferences": files,
    }


def licence_list(found: Sequence[Package]) -> str:
    """Return a table of packages and licences."""
    rows = [f"| {one.name} | {one.version} | {one.licence} |" for one in found]
    return "\n".join(["| package | version | licence |", "|---|---|---|", *rows, ""])


def main(place: Path) -> None:
    """Write both files into a folder."""
    found = list(packages(LOCK.read_text()))
    project = (LOCK.parent.parent / "pyproject.toml").read_text()
    version = re.search(r'^version = "([^"]+)"', project, re.MULTILINE)
    bill = cyclonedx(found, version=version[1] if version else UNKNOWN)
    place.mkdir(parents=True, exist_ok=True)
    (place / "sbom.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    (place / "licences.md").write_text(licence_list(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
