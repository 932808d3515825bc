"""The demo runs where only the product's packages are installed, although it starts nodes by tests' code."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

from packaging.utils import canonicalize_name

from tests.tree import ROOT


def modules(pattern: str) -> list[str]:
    """The names of the modules at these paths."""
    paths = (path.relative_to(ROOT).with_suffix("") for path in ROOT.glob(pattern))
    return sorted(".".join(path.parts) for path in paths)


COMMANDS = modules("*/management/commands/[a-z]*.py")
# The pages of script/dev alone need what only development has: tests/demo/debug/test_settings.py.
PROGRAMS = [
    name for name in modules("demo/**/[a-z]*.py") if not name.startswith("demo.debug.")
]
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
"""


def locked(name: str) -> set[str]:
    """The packages that a lock file installs."""
    text = (ROOT / "requirements" / name).read_text()
    return {
        canonicalize_name(found)
        for found in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)
    }


def missing_modules() -> set[str]:
    """What cannot be imported where the product alone is installed."""
    missing = locked("dev.txt") - locked("run.txt")
    return {
        module
        for module, packages in packages_distributions().items()
        if {canonicalize_name(package) for package in packages} <= missing
    }


def imported(*modules: str) -> str:
    """Import these without what only development has; return the last line of what went wrong."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT, ",".join(missing_modules()), *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.splitlines()[-1]


def test_commands_and_the_demos_programs_need_nothing_of_development() -> None:
    assert "gateway.management.commands.demo" in COMMANDS
    assert imported(*COMMANDS, *PROGRAMS) == ""


def test_the_check_sees_what_only_development_has() -> None:
    assert "No module named 'pytest'" in imported("tests.timing")
