"""The environment of the public standard's own library, which is not ours (`setup_x402` of script/_setup.sh)."""

import fcntl
import subprocess
from functools import cache
from typing import Final

from tests.tree import ROOT

_SETUP: Final = ". script/_setup.sh; setup_x402"


@cache
def foreign_python() -> str:
    """The interpreter that has the library; the first who asks in a clone waits for it to be installed."""
    folder = ROOT / "var"
    folder.mkdir(exist_ok=True)
    with (folder / "x402.lock").open("w") as lock:
        # Other processes of the same run ask too.
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["sh", "-eu", "-c", _SETUP], cwd=ROOT, check=True)
    return str(folder / "x402/bin/python")
