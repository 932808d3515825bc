"""Builds each client's package and installs it from the built file, as a stranger would who has no network."""

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tree import ROOT

CLIENTS = ROOT / "clients"
LANGUAGES = {"python": sys.executable, "typescript": "node", "php": "php"}
"""Each language, and the program that runs it."""

_UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True)
class Package:
    """A client as it was installed in `folder` from `built`, and the command of its runner."""

    built: Path
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return what it printed. Fails if the program does."""
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    ran = subprocess.run(
        command,
        cwd=folder,
        env=path | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def install(language: str, folder: Path) -> Package:
    """Build the package of a language in a folder, and install it there."""
    return {"python": _wheel, "typescript": _tarball, "php": _archive}[language](folder)


def _copied(name: str, folder: Path) -> Path:
    """Return a copy of a client's folder: building leaves files there."""
    left_out = shutil.ignore_patterns("__pycache__", "dist", "node_modules", "conformance", "example")
    return Path(shutil.copytree(CLIENTS / name, folder / "source", ignore=left_out))


def _wheel(folder: Path) -> Package:
    source, installed = _copied("api-python", folder), folder / "installed"
    run([_UV, "build", "--wheel", "--offline", "--no-config", "--out-dir", folder, source], folder)
    (built,) = folder.glob("*.whl")
    _unpack(built, installed)
    runner = CLIENTS / "api-python" / "conformance" / "run.py"
    return Package(built, installed, [sys.executable, str(runner)], {"PYTHONPATH": str(installed)})


def _unpack(wheel: Path, installed: Path) -> None:
    # --target does not look at the environment that runs the tests.
    plain = ["--offline", "--no-config", "--no-deps", "--python", sys.executable]
    run([_UV, "pip", "install", *plain, "--target", installed, wheel], installed.parent)


def install_mcp(folder: Path, python: str) -> Path:
    """Build the server for assistants and its client, install both, and return where. `python` is one that has hatchling."""
    installed = install("python", folder).folder
    wheels = folder / "wheels"
    # In its own folder: the guide that it takes along lies beside it.
    build: list[str | Path] = [python, "-B", "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
    run(build, CLIENTS / "mcp", {"HOME": str(folder)})
    (built,) = wheels.glob("*.whl")
    _unpack(built, installed)
    return installed


def install_provider(folder: Path) -> Path:
    """Build the provider for django-payments and the client, install both, and return where."""
    installed, wheels = install("python", folder).folder, folder / "wheels"
    source = _copied("django-payments", folder / "provider")
    run([_UV, "build", "--wheel", "--offline", "--no-config", "--out-dir", wheels, source], folder)
    (built,) = wheels.glob("*.whl")
    _unpack(built, installed)
    return installed


def _tarball(folder: Path) -> Package:
    source = _copied("api-typescript", folder)
    (source / "node_modules").symlink_to(ROOT / "node_modules")
    run(["node", ROOT / "node_modules" / "typescript" / "bin" / "tsc"], source)
    (source / "node_modules").unlink()
    told = json.loads(run(["npm", "pack", "--offline", "--ignore-scripts", "--json"], source))
    built = source / told[0]["filename"]
    place = folder / "installed" / "node_modules" / "@florin"
    place.mkdir(parents=True)
    with tarfile.open(built) as archive:
        archive.extractall(place, filter="data")
    (place / "package").rename(place / "client")
    runner = folder / "installed" / "run.mjs"
    shutil.copy(CLIENTS / "api-typescript" / "conformance" / "run.mjs", runner)
    return Package(built, place / "client", ["node", str(runner)], {})


def _archive(folder: Path) -> Package:
    """Make what `composer archive` makes, and load it as composer's own autoloader would: by the PSR-4 of composer.json."""
    built, installed = folder / "florin.zip", folder / "installed"
    source = _copied("api-php", folder)
    with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(source.rglob("*")):
            archive.write(path, path.relative_to(source))
    with zipfile.ZipFile(built) as archive:
        archive.extractall(installed)
    runner = CLIENTS / "api-php" / "conformance" / "run.php"
    return Package(built, installed, ["php", str(runner)], {"FLORIN_PACKAGE": str(installed)})
