"""Asking `tests.clerk`, which works in an installation's database."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STOP_SECONDS = 30.0


class Clerk:
    """The process of `tests.clerk`, asked by line."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clerk"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str, **arguments: Any) -> Any:
        """Let it do one thing and return its answer; what goes wrong there is on standard error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command} | arguments) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the clerk could not {command}"
        return json.loads(answer)

    def close(self) -> None:
        """Let it end."""
        self._process.communicate(timeout=STOP_SECONDS)
