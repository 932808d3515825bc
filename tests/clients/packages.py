"""Builds each client's package and installs it from the built file, as a stranger would who has no network."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.tree import ROOT

CLIENTS = ROOT / "clients"
LANGUAGES = {"python": sys.executable, "typescript": "node", "php": "php"}
"""Each language, and the program that runs it."""

_UV = Path(sys.executable).with_name("uv")

# What composer writes as vendor/autoload.php, where composer is not installed: the PSR-4 of composer.json alone.
_AUTOLOAD: Final = """<?php
spl_autoload_register(static function (string $class): void {
    foreach (json_decode(file_get_contents('FOLDER/composer.json'), true)['autoload']['psr-4'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            require 'FOLDER/' . $folder . str_replace('\\\\', '/', substr($class, strlen($prefix))) . '.php';
        }
    }
});
"""


@dataclass(frozen=True)
class Package:
    """A client as it was installed in `folder` from `built`, and the command of its runner."""

    built: Path
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return what it printed. Fails if the program does."""
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
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


def is_there(language: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether a language can be run here; say so if not, and fail where everything must be tried."""
    if shutil.which(LANGUAGES[language]):
        return True
    assert os.environ.get("CI") != "true", f"CI must run the {language} client: {LANGUAGES[language]} is missing"
    with capsys.disabled():
        sys.stderr.write(f"\nThe {language} client was not run: {LANGUAGES[language]} is not installed.\n")
    return False


def install(language: str, folder: Path) -> Package:
    """Build the package of a language in a folder, and install it there."""
    return {"python": _wheel, "typescript": _tarball, "php": _archive}[language](folder)


def _copied(name: str, folder: Path) -> Path:
    """Return a copy of a client's folder: building leaves files there."""
    left_out = shutil.ignore_patterns("__pycache__", "dist", "node_modules", "example")
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


def install_alone(source: Path, folder: Path, python: str) -> Path:
    """Build a distribution of the tree, install it without what it needs, and return where. `python` is one that has hatchling."""
    left_out = shutil.ignore_patterns("__pycache__", "dist", "node_modules")
    copied, wheels, installed = folder / "source", folder / "wheels", folder / "installed"
    shutil.copytree(source, copied, ignore=left_out)
    run([python, "-B", "-m", "hatchling", "build", "-t", "wheel", "-d", wheels], copied, {"HOME": str(folder)})
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
    source, installed = _copied("api-typescript", folder), folder / "installed"
    (source / "node_modules").symlink_to(ROOT / "node_modules")
    # It compiles first, by `prepack`.
    run(["npm", "pack", "--offline", "--pack-destination", folder], source)
    (source / "node_modules").unlink()
    (built,) = folder.glob("*.tgz")
    installed.mkdir()
    (installed / "package.json").write_text("{}")
    run(["npm", "install", "--offline", "--no-audit", "--no-fund", built], installed)
    runner = Path(shutil.copy(CLIENTS / "api-typescript" / "conformance" / "run.mjs", installed))
    return Package(built, installed / "node_modules" / "@florin" / "client", ["node", str(runner)], {})


def has_composer() -> bool:
    """Whether composer is there, which Debian has as the package composer."""
    return shutil.which("composer") is not None


def _archive(folder: Path) -> Package:
    """Make the archive and install it, by composer where it is there; else as it would, by the words of composer.json."""
    source, archived, installed = _copied("api-php", folder), folder / "archived", folder / "installed"
    built = folder / "florin.zip"
    # It asks a person who is root, unless it is told that this is meant; and its caches do not belong into the archive.
    alone = {"COMPOSER_ALLOW_SUPERUSER": "1", "HOME": str(folder)}
    if has_composer():
        run(["composer", "archive", "--format=zip", f"--dir={folder}", "--file=florin"], source, alone)
    else:
        _zip(source, built)
    with zipfile.ZipFile(built) as archive:
        archive.extractall(archived)
    installed.mkdir()
    autoload = installed / "vendor" / "autoload.php"
    if has_composer():
        # Copied, not linked: what is installed is what was archived. No network is asked.
        path = {"type": "path", "url": str(archived), "options": {"symlink": False}}
        told = {"repositories": [path, {"packagist.org": False}], "require": {"florin/florin": "*"}}
        (installed / "composer.json").write_text(json.dumps(told))
        run(["composer", "install", "--no-interaction"], installed, alone)
    else:
        autoload.parent.mkdir()
        autoload.write_text(_AUTOLOAD.replace("FOLDER", str(archived)))
    runner = CLIENTS / "api-php" / "conformance" / "run.php"
    return Package(built, installed, ["php", str(runner)], {"FLORIN_AUTOLOAD": str(autoload)})


def _zip(source: Path, built: Path) -> None:
    left_out = json.loads((source / "composer.json").read_text())["archive"]["exclude"]
    with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if f"/{name.parts[0]}" not in left_out:
                archive.write(path, name)
