"""Environments of libraries that are not ours, beside .venv: the public x402 standard's, and the official MCP library's."""

import fcntl
import subprocess
from functools import cache

from tests.tree import ROOT


@cache
def foreign_python(name: str = "x402") -> str:
    """The interpreter that has a library (`setup_x402`, `setup_mcp` of script/_setup.sh).

    The first who asks in a clone waits for it to be installed.
    """
    folder = ROOT / "var"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        # Other processes of the same run ask too.
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["sh", "-eu", "-c", f". script/_setup.sh; setup_{name}"], cwd=ROOT, check=True)
    return str(folder / name / "bin/python")
