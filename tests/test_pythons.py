"""The Pythons that Florin promises to run on are the same wherever they are named, and the lock files serve each."""

import re
import tomllib
from importlib.metadata import distribution

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tree import ROOT

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
IN_PROSE = "Python 3.11, 3.12, 3.13 or 3.14"
LOCKED = re.compile(r"^([\w.-]+==[^\\\n]+?) *\\?$", re.MULTILINE)

# What a package asks for and is not given, with what makes up for it.
OVERRIDDEN = {("3.14", "tronpy", "coincurve"): "wallets.chains.tron.keys"}


def environment(python: str) -> dict[str, str]:
    """The markers of this machine, were it to run that Python."""
    here = {name: str(value) for name, value in default_environment().items()}
    full = {"python_version": python, "python_full_version": f"{python}.5"}
    return here | full | {"extra": ""}


def locked(lock_text: str, python: str) -> dict[str, list[str]]:
    """Name to versions of what an installer takes on that Python."""
    found: dict[str, list[str]] = {}
    for line in LOCKED.findall(lock_text):
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate(environment(python)):
            version = str(wanted.specifier).removeprefix("==")
            found.setdefault(canonicalize_name(wanted.name), []).append(version)
    return found


def unmet(versions: dict[str, list[str]], python: str) -> list[tuple[str, str, str]]:
    """What installed packages ask for on that Python and these versions do not have."""
    return [
        (python, name, canonicalize_name(wanted.name))
        for name in versions
        for wanted in _asked_by(name, python)
        if not _has(versions, wanted)
    ]


def _asked_by(name: str, python: str) -> list[Requirement]:
    try:
        lines = distribution(name).requires or []
    except ModuleNotFoundError:
        # For another Python than this one.
        return []
    asked = [Requirement(line) for line in lines]
    return [one for one in asked if one.marker is None or one.marker.evaluate(environment(python))]


def _has(versions: dict[str, list[str]], wanted: Requirement) -> bool:
    found = versions.get(canonicalize_name(wanted.name), [])
    return any(wanted.specifier.contains(one, prereleases=True) for one in found)


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / name).read_text()


def test_the_project_names_the_same_pythons_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: "
    assert [line.removeprefix(prefix) for line in project["classifiers"]] == PYTHONS
    assert project["requires-python"] == ">=3.11,<3.15"
    setup = (ROOT / "script/_setup.sh").read_text()
    assert "(3, 11) <= sys.version_info[:2] <= (3, 14)" in setup
    assert all(f"python{python}" in setup for python in PYTHONS)
    wheels = (ROOT / "script/check-wheels").read_text()
    assert f"for version in {' '.join(PYTHONS)};" in wheels


@pytest.mark.parametrize("name", ["README.md", "docs/guide/deploying.md", "script/_setup.sh"])
def test_people_are_told_the_same(name: str) -> None:
    assert IN_PROSE in (ROOT / name).read_text()


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.txt",
        "server.txt",
        "tracing.txt",
        "run.txt",
        "dev.txt",
        "x402.txt",
        "pandas.txt",
        "mcp.txt",
        "shop.txt",
    ],
)
def test_a_lock_file_names_one_version_of_each_package(name: str, python: str) -> None:
    versions = locked(lock_text(name), python)
    assert versions
    assert {one: found for one, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_files_are_complete_since_installers_add_nothing(python: str) -> None:
    missing = {
        gap
        for name in ("server.txt", "tracing.txt", "run.txt", "dev.txt")
        for gap in unmet(locked(lock_text(name), python), python)
    }
    assert missing == {gap for gap in OVERRIDDEN if gap[0] == python}


def test_a_package_locked_for_older_pythons_alone_is_missed() -> None:
    # Taken from a lock file that has it, with a marker added.
    text = re.sub(r"^(eth-abi==[\w.]+)", r"\1 ; python_version < '3.13'", lock_text("run.txt"), flags=re.MULTILINE)
    assert ("3.12", "tronpy", "eth-abi") not in unmet(locked(text, "3.12"), "3.12")
    assert ("3.13", "tronpy", "eth-abi") in unmet(locked(text, "3.13"), "3.13")


def test_coincurve_is_locked_where_it_has_wheels() -> None:
    for python in PYTHONS:
        wanted = None if python == "3.14" else ["21.0.0"]
        assert locked(lock_text("run.txt"), python).get("coincurve") == wanted
